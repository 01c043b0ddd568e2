-- One value per run and metric: the mean over the values that count. `invalid` counts steps whose value was not a number; `grade` is 1 where
-- only profiled steps were left, 2 where only warm-up was.
-- Depends on c_judged, c_metric.
WITH value_of AS (
    SELECT side, run, name, avg(value ORDER BY step) AS value, stddev_samp(value ORDER BY step) AS deviation, count(*) AS steps,
           max(grade) AS grade
    FROM c_judged GROUP BY ALL
)
SELECT n.side, n.run, n.name, v.value, v.deviation, v.steps, v.grade, n.invalid, n.given
FROM (SELECT side, run, name, count(*) FILTER (WHERE value IS NULL) AS invalid, min(given) AS given FROM c_metric GROUP BY ALL) AS n
LEFT JOIN value_of AS v USING (side, run, name)
ORDER BY n.name, n.side, n.run;
