-- The account of the critical path. Running it again gives the same rows.
-- Depends on capture, divided, path_piece, path_window, r_block, r_label, r_path.
-- Nothing without path_piece, path_window.
DELETE FROM r_path;

INSERT INTO r_path BY NAME
WITH row AS (
    SELECT b.capture, b.device_id, b.step, b.from_ns, b.phase, l.kind, l.subject, l.op_type, l.core_type, l.input_dtypes, l.host_op, NULL AS group_ranks,
           b.ns, b.pieces
    FROM r_block AS b JOIN r_label AS l ON l.capture = b.capture AND l.label = b.label
    UNION ALL
    SELECT capture, device_id, step, from_ns, phase, kind, subject, op_type, NULL, dtype, NULL, group_ranks, ns, 1 FROM divided
), placed AS (
    SELECT r.* REPLACE (r.from_ns - w.ahead_ns AS from_ns), w.track
    FROM row AS r JOIN path_window AS w ON w.capture = r.capture AND w.device_id IS NOT DISTINCT FROM r.device_id AND w.step = r.step
), begun AS (
    SELECT job, walk, min(from_ns) AS from_ns FROM path_window GROUP BY ALL
), late AS (
    SELECT w.capture, w.device_id, w.step, w.from_ns - b.from_ns AS ns
    FROM path_window AS w JOIN path_piece AS p ON p.track = w.track AND p.from_ns = w.from_ns AND p.is_first JOIN begun AS b USING (job, walk)
), gap AS (
    SELECT capture, device_id, step, track, from_ns AS until_ns, lag(until_ns) OVER (PARTITION BY track ORDER BY from_ns) AS from_ns FROM path_window
)
SELECT r.capture, r.device_id, r.step, r.phase, r.kind, r.subject, r.op_type, r.core_type, r.input_dtypes, r.host_op, r.group_ranks,
       sum(r.ns) AS ns, sum(r.pieces) AS pieces
FROM placed AS r ASOF JOIN path_piece AS p ON p.track = r.track AND r.from_ns >= p.from_ns
WHERE r.from_ns < p.until_ns
GROUP BY ALL
UNION ALL
SELECT g.capture, g.device_id, g.step, NULL, 'between steps', NULL, NULL, NULL, NULL, NULL, NULL, g.until_ns - g.from_ns, 1
FROM gap AS g ASOF JOIN path_piece AS p ON p.track = g.track AND g.from_ns >= p.from_ns
WHERE g.until_ns <= p.until_ns AND g.until_ns > g.from_ns
UNION ALL
SELECT l.capture, l.device_id, l.step, c.phase, 'late start', 'rank ' || c.rank, NULL, NULL, NULL, NULL, NULL, l.ns, 1
FROM late AS l JOIN capture AS c ON c.capture = l.capture WHERE l.ns > 0;

DROP TABLE aligned;
DROP TABLE clock;
DROP TABLE divided;
DROP TABLE exposed;
DROP TABLE job_collective;
DROP TABLE job_step;
DROP TABLE shared_job;
DROP TABLE path_piece;
DROP TABLE path_window;
