-- The settings that divide runs, but for those that vary on purpose; and the environment of each run: a digest of them.
-- Variables: varied (a list of keys, or globs over them).
-- Depends on history_run, history_setting.
CREATE TEMP VIEW dividing_setting AS
SELECT run, key, value FROM history_setting AS s
WHERE divides AND len(list_filter(getvariable('varied'), p -> s.key GLOB p OR starts_with(s.key, p || '.'))) = 0;
CREATE TEMP TABLE run_environment AS
SELECT r.run, left(md5(coalesce(string_agg(s.key || '=' || s.value, chr(10) ORDER BY s.key), '')), 8) AS environment
FROM history_run AS r LEFT JOIN dividing_setting AS s USING (run)
GROUP BY r.run;
