-- The operators and modules of a typical step of each capture. The thread that runs the steps comes first, then the busier ones. At one time, ends
-- of modules come first, then modules, then operators, the outer before the inner. Operators without a thread have no order.
-- Depends on host_op, main_thread, module, place, sequence_step.
-- Nothing without host_op, sequence_step.
INSERT INTO r_sequence
WITH operator AS (
    SELECT o.capture, o.thread, o.name, o.depth, o.start_ns, o.id
    FROM host_op AS o JOIN sequence_step AS s ON s.capture = o.capture AND s.step = o.step WHERE o.thread IS NOT NULL
), worker AS (
    SELECT o.capture, o.thread,
           row_number() OVER (PARTITION BY o.capture ORDER BY o.thread = any_value(m.thread) DESC NULLS LAST, count(*) DESC, min(o.start_ns)) AS worker
    FROM operator AS o LEFT JOIN main_thread AS m ON m.capture = o.capture GROUP BY o.capture, o.thread
), entered AS (
    SELECT m.capture, m.thread, m.name, m.start_ns, m.end_ns
    FROM module AS m ASOF JOIN place AS p ON p.capture = m.capture AND m.start_ns >= p.from_ns
    JOIN sequence_step AS s ON s.capture = m.capture AND s.step = p.step WHERE m.end_ns > m.start_ns
), event AS (   -- turn: the order at one time; of ends and starts of modules by their length, of operators by their depth
    SELECT capture, thread, 'operator' AS kind, name, depth, start_ns AS ts_ns, coalesce(depth, 2147483647) AS turn, id FROM operator
    UNION ALL BY NAME SELECT capture, thread, 'module' AS kind, name, start_ns AS ts_ns, start_ns - end_ns AS turn FROM entered
    UNION ALL BY NAME SELECT capture, thread, 'end' AS kind, name, end_ns AS ts_ns, end_ns - start_ns - 4611686018427387904 AS turn FROM entered
    UNION ALL BY NAME SELECT capture, thread, 'thread' AS kind, '' AS name FROM worker
), entry AS (
    SELECT capture, kind, name, depth, CAST(row_number() OVER (PARTITION BY capture ORDER BY kind, name, depth) - 1 AS INTEGER) AS number
    FROM (SELECT DISTINCT capture, kind, name, depth FROM event SEMI JOIN worker USING (capture, thread))
), listed AS (
    SELECT capture, list(kind ORDER BY number) AS kinds, list(name ORDER BY number) AS names, list(depth ORDER BY number) AS depths
    FROM entry GROUP BY capture
), ordered AS (   -- thread by thread: sorting by one more key takes three times as long
    SELECT e.capture, e.thread, list(y.number ORDER BY e.ts_ns NULLS FIRST, e.turn, e.id) AS tokens
    FROM event AS e JOIN entry AS y ON y.capture = e.capture AND y.kind = e.kind AND y.name IS NOT DISTINCT FROM e.name AND y.depth IS NOT DISTINCT FROM e.depth
    GROUP BY e.capture, e.thread
), joined AS (
    SELECT o.capture, flatten(list(o.tokens ORDER BY w.worker)) AS tokens
    FROM ordered AS o JOIN worker AS w ON w.capture = o.capture AND w.thread = o.thread GROUP BY o.capture
)
SELECT s.capture, s.steps, l.kinds, l.names, l.depths, o.tokens, hash(l.kinds, l.names, l.depths, o.tokens)
FROM sequence_step AS s JOIN listed AS l ON l.capture = s.capture JOIN joined AS o ON o.capture = s.capture;
