-- Amount of work, as far as the profile records it: per run, counts per member and step.
-- Depends on c_collective, c_divisor, c_kernel, c_uneven.
-- Nothing without c_divisor.
WITH counted AS (
    SELECT side, run, capture, 'kernel' AS domain, 'workload.kernels' AS metric, sum(calls) AS amount FROM c_kernel GROUP BY ALL
    UNION ALL SELECT side, run, capture, 'kernel', 'workload.input_elements', sum(elements) FROM c_kernel
    WHERE side NOT IN (SELECT side FROM c_uneven WHERE what = 'kernel_elements') GROUP BY ALL
    UNION ALL SELECT side, run, capture, 'device', 'workload.collectives', count(*) FROM c_collective GROUP BY ALL
    UNION ALL SELECT side, run, capture, 'device', 'workload.collective_bytes', sum(size_bytes) FROM c_collective
    WHERE side NOT IN (SELECT side FROM c_uneven WHERE what = 'collective_sizes') GROUP BY ALL
), exact AS (
    SELECT side, run, metric, divisor, runs, sum(amount) AS amount
    FROM counted JOIN c_divisor USING (side, run, capture, domain) WHERE amount IS NOT NULL GROUP BY ALL
)
SELECT side, run, metric, sum(amount * runs / divisor ORDER BY divisor) AS value FROM exact GROUP BY ALL ORDER BY metric, side, run;
