-- What the run is made of. Depends on meta, capture, step.
SELECT (SELECT value FROM meta WHERE key = 'name') AS run, count(DISTINCT coalesce(c.rank, -1)) FILTER (WHERE c.replica IS NULL) AS ranks,
       nullif(count(DISTINCT c.replica), 0) AS replicas, count(*) AS captures,
       (SELECT count(DISTINCT step) FROM step) AS steps, string_agg(DISTINCT c.source, ', ' ORDER BY c.source) AS source,
       string_agg(DISTINCT c.level, ', ' ORDER BY c.level) AS level
FROM capture AS c;
