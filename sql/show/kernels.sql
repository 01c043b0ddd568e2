-- The twenty operator types (names, if there are no types) with the most kernel time, per member of a role and step.
-- Depends on r_kernel, shown_device, shown_divisor.
WITH kernels AS (
    SELECT coalesce(k.op_type, k.name) AS kernel, k.core_type, sum(k.calls) AS all_calls, sum(k.sum_ns) AS all_ns,
           sum(k.calls / kernel_times ORDER BY k.calls / kernel_times) AS calls,
           sum(k.sum_ns / kernel_times ORDER BY k.sum_ns / kernel_times) AS ns,
           max(k.max_ns) AS max_ns
    FROM r_kernel AS k
    JOIN shown_device AS d ON d.capture = k.capture AND d.step = k.step
     AND (d.device_id IS NOT DISTINCT FROM k.device_id OR d.compute_ns IS NULL)
    JOIN shown_divisor AS v ON v.capture = k.capture
    GROUP BY coalesce(k.op_type, k.name), k.core_type
)
SELECT kernel, core_type, calls, ns / 1e6 AS total_ms, 100.0 * ns / (SELECT sum(ns ORDER BY ns) FROM kernels) AS share_percent,
       all_ns / 1e3 / all_calls AS mean_us, max_ns / 1e3 AS max_us
FROM kernels ORDER BY ns DESC, kernel LIMIT 20;
