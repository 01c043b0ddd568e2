-- Kernels grouped by name without running numbers, type, shapes and launching operator. A call without a time would make the time per
-- call too short, so it does not count.
-- Depends on kernel, kernel_key, kernel_text, kernel_work, phase, reported_kernel_type, stage_unit, step.
-- Nothing without kernel + reported_kernel_type, kernel_key + reported_kernel_type, kernel_text + reported_kernel_type.
INSERT INTO r_kernel
WITH shape AS (   -- elements of all inputs of one call, once per distinct text
    SELECT input_shapes, list_sum(list_transform(string_split(input_shapes, ';'), lambda s:
               CASE WHEN regexp_full_match(s, '[0-9]{1,15}(,[0-9]{1,15})*') THEN list_product(CAST(string_split(s, ',') AS DOUBLE[])) END)) AS elements
    FROM (SELECT DISTINCT input_shapes FROM kernel_text WHERE input_shapes IS NOT NULL)
), unit AS (   -- ratios beyond 1 are damage; a kernel of which all are 0 runs on another processor
    SELECT capture, kernel_id, CASE WHEN cube BETWEEN 0 AND 1.05 THEN cube ELSE 0 END AS cube,
           CASE WHEN load BETWEEN 0 AND 1.05 THEN load ELSE 0 END AS load, CASE WHEN l2_hit BETWEEN 0 AND 1 THEN l2_hit END AS l2_hit,
           coalesce(greatest(cube, load) > 0 AND greatest(cube, load) <= 1.05, FALSE) AS counted
    FROM stage_unit
), grouped AS (
    SELECT k.capture, k.device_id, k.step, p.name AS phase, t.key, count(*) AS calls, sum(k.end_ns - k.start_ns) AS sum_ns,
           min(k.end_ns - k.start_ns) AS min_ns, max(k.end_ns - k.start_ns) AS max_ns, sum(k.busy_ns) AS busy_ns, sum(k.gap_ns) AS gap_ns,
           max(k.block_num) AS block_num, sum(k.end_ns - k.start_ns) FILTER (WHERE u.counted) AS counted_ns,
           sum(CAST(round(u.cube * (k.end_ns - k.start_ns)) AS BIGINT)) FILTER (WHERE u.counted) AS cube_ns,
           sum(CAST(round(u.load * (k.end_ns - k.start_ns)) AS BIGINT)) FILTER (WHERE u.counted) AS load_ns,
           sum(k.end_ns - k.start_ns) FILTER (WHERE u.l2_hit IS NOT NULL) AS l2_counted_ns,
           sum(CAST(round(u.l2_hit * (k.end_ns - k.start_ns)) AS BIGINT)) AS l2_hit_ns
    FROM kernel AS k JOIN kernel_key AS t ON t.capture = k.capture AND t.id = k.id
    LEFT JOIN unit AS u ON u.capture = k.capture AND u.kernel_id = k.id
    LEFT JOIN phase AS p ON p.capture = k.capture AND p.id = k.phase
    WHERE k.end_ns IS NOT NULL
    GROUP BY ALL
)
SELECT g.capture, g.device_id, g.step, g.phase, t.name, t.op_type, t.core_type, t.category, t.input_shapes, t.input_dtypes, t.input_formats, t.host_op,
       g.calls, g.sum_ns, g.min_ns, g.max_ns, g.busy_ns, g.gap_ns, g.calls * s.elements,
       g.block_num, w.work, w.at_most, w.precision, g.calls * w.flop, g.calls * w.bytes,
       g.counted_ns, g.cube_ns, g.load_ns, g.l2_counted_ns, g.l2_hit_ns
FROM grouped AS g JOIN kernel_text AS t ON t.key = g.key LEFT JOIN shape AS s ON s.input_shapes = t.input_shapes
LEFT JOIN kernel_work AS w ON w.key = g.key;
-- If no kernel with a time was read, the profiler's own totals are used, without steps.
INSERT INTO r_kernel
SELECT r.capture, r.device_id, s.step, NULL, r.op_type, r.op_type, r.core_type, 'other', NULL, NULL, NULL, NULL,
       r.calls, r.total_ns, r.min_ns, r.max_ns, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM reported_kernel_type AS r
LEFT JOIN (SELECT capture, min(step) AS step FROM step GROUP BY capture HAVING count(*) = 1) AS s ON s.capture = r.capture
WHERE r.capture NOT IN (SELECT capture FROM kernel WHERE end_ns IS NOT NULL);
