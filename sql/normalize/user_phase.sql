-- Ranges of the user's own that are phases, in captures in which no phase of an RL step is known by name (docs/design.md §4): forward,
-- backward, optimizer. They lie on the thread that runs the steps, and recur in more than half of the steps. The outermost ones count. If
-- they are all of one name and cover most of the step, as train_step does, those inside them count. Ranges in a domain are not the user's: it
-- belongs to a library. torch_npu records record_function as operators: one is a range if it has no inputs and no sequence number, and contains an
-- operator of torch.
-- Depends on capture, main_thread, own_range, phase_vocabulary, range, stage_host_op, stage_phase, step.
-- Nothing without capture, own_range, step.
CREATE OR REPLACE TEMP TABLE user_phase AS
WITH plain AS (
    SELECT capture, tool FROM capture
    WHERE phase IS NULL AND capture NOT IN (
        SELECT m.capture FROM (SELECT capture, name FROM stage_phase UNION ALL SELECT capture, name FROM stage_host_op) AS m
        JOIN phase_vocabulary AS v ON v.capture = m.capture AND v.mark = m.name
    )
), span AS (
    SELECT r.capture, r.thread, r.start_ns, r.end_ns, r.name, FALSE AS is_operator
    FROM "range" AS r JOIN plain AS c ON c.capture = r.capture
    WHERE r.side = 'host' AND r.kind = 'range' AND coalesce(lower(r.domain) IN ('', 'default'), TRUE)
    UNION ALL
    SELECT o.capture, o.thread, o.start_ns, o.end_ns, o.name, TRUE
    FROM stage_host_op AS o JOIN plain AS c ON c.capture = o.capture
    WHERE c.tool <> 'torch' AND o.sequence_number IS NULL AND o.input_shapes IS NULL AND o.input_dtypes IS NULL
), named AS (
    SELECT s.capture, s.thread, s.start_ns, s.end_ns, s.is_operator, n.name FROM span AS s JOIN own_range AS n ON n.mark = s.name
    WHERE s.end_ns > s.start_ns AND s.thread IS NOT NULL AND n.name NOT IN ('', '(outside)')
), window_of AS (   -- a capture without marks is one step
    SELECT s.capture, s.step, coalesce(s.start_ns, -9223372036854775807) AS from_ns, coalesce(s.end_ns, 9223372036854775806) AS until_ns,
           s.end_ns - s.start_ns AS ns
    FROM step AS s WHERE s.capture IN (SELECT capture FROM named) AND (s.start_ns IS NOT NULL OR s.inferred)
), range_thread AS (   -- without operators, the thread with the longest ranges
    SELECT capture, thread, sum(end_ns - start_ns) AS ns FROM named WHERE capture NOT IN (SELECT capture FROM main_thread) GROUP BY ALL
), main AS (
    FROM main_thread
    UNION ALL
    SELECT capture, arg_max(thread, {'ns': ns, 'lowest': -CAST(thread AS HUGEINT)}) FROM range_thread GROUP BY capture
), placed_span AS (
    SELECT n.capture, n.thread, n.name, n.start_ns, n.end_ns, n.is_operator, w.step
    FROM named AS n JOIN main AS m ON m.capture = n.capture AND m.thread = n.thread
    ASOF JOIN window_of AS w ON w.capture = n.capture AND n.start_ns >= w.from_ns
    WHERE n.start_ns < w.until_ns
), holding AS (
    SELECT p.capture, p.name, p.step, p.start_ns, p.end_ns
    FROM placed_span AS p WHERE NOT p.is_operator
    UNION ALL
    SELECT p.capture, p.name, p.step, p.start_ns, p.end_ns
    FROM placed_span AS p
    ASOF JOIN (
        SELECT capture, thread, start_ns, end_ns FROM stage_host_op
        WHERE contains(name, '::') AND (capture, thread) IN (SELECT capture, thread FROM placed_span WHERE is_operator)
    ) AS o
      ON o.capture = p.capture AND o.thread = p.thread AND p.start_ns < o.start_ns
    WHERE p.is_operator AND o.end_ns <= p.end_ns
), recurring AS (
    SELECT h.capture, h.name FROM holding AS h JOIN (SELECT capture, count(*) AS steps FROM window_of GROUP BY capture) AS w ON w.capture = h.capture
    GROUP BY h.capture, h.name HAVING 2 * count(DISTINCT h.step) > any_value(w.steps)
), edge AS (
    SELECT h.capture, h.name, h.start_ns AS ts_ns, h.end_ns, 1 AS sign FROM holding AS h JOIN recurring AS r ON r.capture = h.capture AND r.name = h.name
    UNION ALL
    SELECT h.capture, NULL, h.end_ns, NULL, -1 FROM holding AS h JOIN recurring AS r ON r.capture = h.capture AND r.name = h.name
), deep AS (
    SELECT capture, name, ts_ns AS start_ns, end_ns,
           sum(sign) OVER (PARTITION BY capture ORDER BY ts_ns, sign, end_ns DESC, name ROWS UNBOUNDED PRECEDING) AS depth, sign FROM edge
), total AS (
    SELECT w.capture, coalesce(sum(w.ns), any_value(e.ns)) AS ns
    FROM window_of AS w LEFT JOIN (
        SELECT capture, max(end_ns) - min(start_ns) AS ns
        FROM (SELECT capture, start_ns, end_ns FROM deep WHERE sign = 1 UNION ALL SELECT capture, start_ns, end_ns FROM stage_host_op) GROUP BY capture
    ) AS e ON e.capture = w.capture
    GROUP BY w.capture
), level AS (
    SELECT d.capture, d.depth, count(DISTINCT d.name) AS names, sum(d.end_ns - d.start_ns) / any_value(t.ns) AS share
    FROM deep AS d JOIN total AS t ON t.capture = d.capture WHERE d.sign = 1 GROUP BY d.capture, d.depth
), chosen AS (   -- 0.75: most of the step; 0.95: all of it, and nothing inside
    SELECT capture, depth FROM (
        SELECT *, depth = max(depth) OVER (PARTITION BY capture) AS is_last FROM level
    ) WHERE names > 1 OR share < CASE WHEN is_last THEN 0.95 ELSE 0.75 END
    QUALIFY depth = min(depth) OVER (PARTITION BY capture) AND names <= 32
)
SELECT d.capture, d.name, d.start_ns, d.end_ns
FROM deep AS d JOIN chosen AS c ON c.capture = d.capture AND c.depth = d.depth WHERE d.sign = 1;
