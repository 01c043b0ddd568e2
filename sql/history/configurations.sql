-- The configurations of the runs, in the order of their first runs: the digest, the releases of the trainer (empty if none of the runs says), and
-- the settings that divide runs.
-- Variables: release_keys.
-- Depends on dividing_setting, history_run, history_setting, run_environment.
WITH release AS (
    SELECT e.environment, r.run, r.started_ns, r.number,
           string_agg(s.key || '=' || s.value, ' ' ORDER BY s.key) FILTER (list_contains(getvariable('release_keys'), s.key)) AS name
    FROM history_run AS r JOIN run_environment AS e USING (run) LEFT JOIN history_setting AS s USING (run) GROUP BY ALL
), configuration AS (
    SELECT environment, arg_min(run, {'at': started_ns, 'number': number}) AS run, min({'at': started_ns, 'number': number}) AS first,
           coalesce(list(DISTINCT name ORDER BY name) FILTER (name IS NOT NULL), []) AS releases
    FROM release GROUP BY environment
)
SELECT c.environment, c.releases, coalesce(list(s.key ORDER BY s.key) FILTER (s.key IS NOT NULL), []) AS keys,
       coalesce(list(s.value ORDER BY s.key) FILTER (s.key IS NOT NULL), []) AS "values"
FROM configuration AS c LEFT JOIN dividing_setting AS s USING (run)
GROUP BY c.environment, c.releases, c.first ORDER BY c.first;
