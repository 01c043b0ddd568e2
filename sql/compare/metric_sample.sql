-- One value per run and metric: the mean over the values that count. `invalid` is the number of steps whose value is not a number. `grade`
-- is 1 if only profiled steps were left, and 2 if only warm-up steps were left.
-- Depends on c_judged, c_metric, in_part.
-- Nothing without c_metric.
WITH value_of AS (
    SELECT side, run, name, avg(value ORDER BY step) AS value, stddev_samp(value ORDER BY step) AS deviation, count(*) AS steps,
           max(grade) AS grade
    FROM c_judged WHERE in_part(name) GROUP BY ALL
)
SELECT n.side, n.run, n.name, v.value, v.deviation, v.steps, v.grade, n.invalid, n.given
FROM (SELECT side, run, name, count(*) FILTER (WHERE value IS NULL) AS invalid, min(given) AS given FROM c_metric WHERE in_part(name) GROUP BY ALL) AS n
LEFT JOIN value_of AS v USING (side, run, name)
ORDER BY enum_code(n.name), n.side, n.run;
