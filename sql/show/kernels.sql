-- The twenty operator types (names, where there are no types) with the most kernel time, per rank and step.
-- Depends on r_kernel, shown_device, shown_step.
WITH divisor AS (SELECT CAST(count(*) AS DOUBLE) AS times FROM shown_step), kernels AS (
    SELECT coalesce(k.op_type, k.name) AS kernel, k.core_type, sum(k.calls) AS calls, sum(k.sum_ns) AS ns, max(k.max_ns) AS max_ns
    FROM r_kernel AS k
    JOIN shown_device AS d ON d.capture = k.capture AND d.step = k.step
     AND (d.device_id IS NOT DISTINCT FROM k.device_id OR d.compute_ns IS NULL)
    GROUP BY ALL
)
SELECT kernel, core_type, calls / times AS calls, ns / 1e6 / times AS total_ms, 100.0 * ns / (SELECT sum(ns) FROM kernels) AS share_percent,
       ns / 1e3 / calls AS mean_us, max_ns / 1e3 AS max_us
FROM kernels CROSS JOIN divisor ORDER BY ns DESC, kernel LIMIT 20;
