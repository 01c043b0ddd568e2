-- Kernels by operator type and input shapes over the whole run, most time first.
-- Depends on r_kernel.
SELECT coalesce(op_type, name) AS kernel, core_type, input_shapes, sum(calls) AS calls, sum(sum_ns) / 1e6 AS total_ms,
       sum(sum_ns) / 1e3 / sum(calls) AS mean_us, min(min_ns) / 1e3 AS min_us, max(max_ns) / 1e3 AS max_us
FROM r_kernel GROUP BY ALL ORDER BY total_ms DESC, kernel, input_shapes;
