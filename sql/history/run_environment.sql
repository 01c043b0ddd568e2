-- The environment of each run: a digest of the settings that divide runs, but for those that vary on purpose.
-- Variables: varied (a list of keys, or globs over them).
-- Depends on history_run, history_setting.
CREATE TEMP TABLE run_environment AS
SELECT r.run, left(md5(coalesce(string_agg(s.key || '=' || s.value, chr(10) ORDER BY s.key), '')), 8) AS environment
FROM history_run AS r LEFT JOIN history_setting AS s
    ON s.run = r.run AND s.divides AND len(list_filter(getvariable('varied'), p -> s.key GLOB p OR starts_with(s.key, p || '.'))) = 0
GROUP BY r.run;
