-- Contents of the run. Without a profile: the number of training steps, and the files that list them.
-- Depends on capture, meta, metric, step.
SELECT (SELECT value FROM meta WHERE key = 'name') AS run, count(DISTINCT (CASE WHEN c.phase IS NULL THEN c.role END, c.rank)) FILTER (WHERE c.replica IS NULL) AS ranks,
       nullif(count(DISTINCT c.replica), 0) AS replicas, count(*) AS captures,
       CASE WHEN count(*) > 0 THEN (SELECT count(DISTINCT step) FROM step)
            ELSE (SELECT count(DISTINCT step) FROM metric WHERE step <> 0 OR NOT starts_with(name, 'val')) END AS steps,
       coalesce(string_agg(DISTINCT c.source, ', ' ORDER BY c.source), (SELECT string_agg(DISTINCT m.source, ', ' ORDER BY m.source) FROM metric AS m)) AS source,
       string_agg(DISTINCT c.level, ', ' ORDER BY c.level) AS level
FROM capture AS c;
