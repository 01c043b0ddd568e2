-- Metrics of training: means over steps without a profiler where there are any, times without warm-up; with the last value. Depends on metric.
WITH graded AS (
    SELECT *, CASE WHEN warmup AND regexp_matches(name, '^(timing_s|timing_per_token_ms|perf)/') THEN 2 WHEN profiled THEN 1 ELSE 0 END AS grade
    FROM metric WHERE isfinite(value)
), kept AS (
    SELECT * FROM graded QUALIFY grade = min(grade) OVER (PARTITION BY name)
)
SELECT name, avg(value ORDER BY step) AS mean, stddev_samp(value ORDER BY step) AS spread, min(value) AS least, max(value) AS most,
       arg_max(value, step) AS last, count(*) AS steps
FROM kept GROUP BY name
ORDER BY name NOT LIKE 'timing_s/%', NOT contains(name, 'rollout_is') AND NOT contains(name, 'mismatch'), name;
