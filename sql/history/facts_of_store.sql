-- What the store of a run says about the run itself: its content, start and status, and why it did not end well.
-- Depends on capture, finding, input, meta.
SELECT
    coalesce((SELECT value FROM meta WHERE key = 'content'), (SELECT md5(string_agg(size_bytes || ':' || digest, ',' ORDER BY size_bytes, digest)) FROM input)) AS content,
    coalesce((SELECT TRY_CAST(value AS BIGINT) FROM meta WHERE key = 'started_ns'), (SELECT min(host_start_ns) FROM capture)) AS started_ns,
    CASE WHEN EXISTS (FROM finding WHERE key = 'run_failed') THEN 'failed' WHEN EXISTS (FROM finding WHERE key = 'run_incomplete') THEN 'incomplete' ELSE 'ok' END AS status,
    (SELECT min(message) FROM finding WHERE key IN ('run_failed', 'run_incomplete')) AS reason;
