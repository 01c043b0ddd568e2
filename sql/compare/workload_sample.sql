-- Amount of work, as far as the profile records it: per run, counts per member and step. 0 in a run that was measured and did none; unknown where
-- rows were lost. Input elements are those of kernels. Without a device they are those of the operators of both sides that go through all of
-- them, without copies, which another data type adds.
-- Depends on c_collective, c_divisor, c_kernel, c_lost, c_operator, c_uneven.
-- Nothing without c_divisor.
WITH counted AS (
    SELECT side, run, capture, 'kernel' AS domain, 'workload.kernels' AS metric, sum(calls) AS amount FROM c_kernel
    WHERE side NOT IN (SELECT side FROM c_lost WHERE what <> 'lost_collectives') GROUP BY ALL
    UNION ALL SELECT side, run, capture, 'kernel', 'workload.input_elements', sum(elements) FROM c_kernel
    WHERE side NOT IN (SELECT side FROM c_uneven WHERE what = 'kernel_elements' UNION ALL SELECT side FROM c_lost WHERE what <> 'lost_collectives') GROUP BY ALL
    UNION ALL SELECT side, run, capture, 'operator', 'workload.input_elements', sum(elements) FROM c_operator
    WHERE name <> 'aten::copy_' AND name IN (SELECT name FROM c_operator GROUP BY name HAVING count(elements) = count(*) AND count(DISTINCT side) = 2)
    AND NOT EXISTS (FROM c_kernel)
    AND side NOT IN (SELECT side FROM c_lost WHERE what <> 'lost_collectives') GROUP BY ALL
    UNION ALL SELECT side, run, capture, 'device', 'workload.collectives', count(*) FROM c_collective
    WHERE side NOT IN (SELECT side FROM c_lost WHERE what = 'damaged_file') GROUP BY ALL
    UNION ALL SELECT side, run, capture, 'device', 'workload.collective_bytes', sum(size_bytes) FROM c_collective
    WHERE side NOT IN (SELECT side FROM c_uneven WHERE what = 'collective_sizes' UNION ALL SELECT side FROM c_lost WHERE what IN ('lost_collectives', 'damaged_file')) GROUP BY ALL
), exact AS (
    SELECT side, run, metric, divisor, runs, sum(amount) AS amount
    FROM counted JOIN c_divisor USING (side, run, capture, domain) WHERE amount IS NOT NULL GROUP BY ALL
)
SELECT r.side, r.run, m.metric, coalesce(sum(e.amount * e.runs / e.divisor ORDER BY e.divisor), 0) AS value
FROM (SELECT DISTINCT side, run, domain FROM c_divisor) AS r
JOIN (SELECT DISTINCT side, domain, metric FROM counted WHERE amount IS NOT NULL) AS m USING (side, domain)
LEFT JOIN exact AS e ON e.side = r.side AND e.run = r.run AND e.metric = m.metric
GROUP BY r.side, r.run, m.metric ORDER BY m.metric, r.side, r.run;
