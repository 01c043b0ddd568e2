-- Kernels grouped by name, type, shapes and launching operator. Running numbers are removed from names (docs/design.md §6), because at
-- Level0 the name is the only key.
-- Depends on host_op, kernel, phase, reported_kernel_type, step.
INSERT INTO r_kernel
WITH shape AS (   -- elements of all inputs of one call, once per distinct text
    SELECT input_shapes, list_sum(list_transform(string_split(input_shapes, ';'), lambda s:
               CASE WHEN regexp_full_match(s, '[0-9]{1,15}(,[0-9]{1,15})*') THEN list_product(CAST(string_split(s, ',') AS DOUBLE[])) END)) AS elements
    FROM (SELECT DISTINCT input_shapes FROM kernel WHERE input_shapes IS NOT NULL)
), bare AS (      -- once per distinct name
    SELECT name, CASE WHEN starts_with(name, 'aclnn') THEN name
                      ELSE regexp_replace(regexp_replace(name, '(_|@)\d+$', ''), '([A-UW-Za-z])\d+(_|$)', '\1\2', 'g') END AS bare_name
    FROM (SELECT DISTINCT name FROM kernel WHERE name IS NOT NULL)
), grouped AS (
    SELECT k.capture, k.device_id, k.step, p.name AS phase, b.bare_name, k.op_type, k.core_type, k.category, k.input_shapes, k.input_dtypes,
           h.name AS host_op, count(*) AS calls, sum(k.end_ns - k.start_ns) AS sum_ns, min(k.end_ns - k.start_ns) AS min_ns,
           max(k.end_ns - k.start_ns) AS max_ns, sum(k.busy_ns) AS busy_ns, sum(k.gap_ns) AS gap_ns
    FROM kernel AS k
    LEFT JOIN host_op AS h ON h.capture = k.capture AND h.id = k.host_op_id
    LEFT JOIN phase AS p ON p.capture = k.capture AND p.id = k.phase
    LEFT JOIN bare AS b ON b.name = k.name
    GROUP BY ALL
)
SELECT g.*, g.calls * s.elements FROM grouped AS g LEFT JOIN shape AS s ON s.input_shapes = g.input_shapes;
-- If no kernel was read, the profiler's own totals are used, without steps.
INSERT INTO r_kernel
SELECT r.capture, r.device_id, s.step, NULL, r.op_type, r.op_type, r.core_type, 'other', NULL, NULL, NULL,
       r.calls, r.total_ns, r.min_ns, r.max_ns, NULL, NULL, NULL
FROM reported_kernel_type AS r
LEFT JOIN (SELECT capture, min(step) AS step FROM step GROUP BY capture HAVING count(*) = 1) AS s ON s.capture = r.capture
WHERE r.capture NOT IN (SELECT capture FROM kernel);
