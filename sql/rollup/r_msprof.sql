-- The tables of `msprof-analyze compare` for each capture, by that tool's definitions (docs/design.md §4): the whole capture, all devices,
-- without steps. Captures without a device are left out. So are the rows Wait and Transmit, which msprof-analyze takes from the plane that
-- waits least. Of chosen steps, those with numbers that follow each other are one part. The time between two parts, in which the steps lie that were
-- not chosen, does not count.
-- Variables: steps.
-- Depends on capture, collective, device_window, kernel, r_collective, r_kernel, r_operator, step.
-- Nothing without capture + kernel + r_operator, collective + kernel + r_operator.
INSERT INTO r_msprof BY NAME
WITH k_own AS (
    SELECT capture, start_ns, end_ns, max(end_ns) OVER (PARTITION BY capture ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
    FROM kernel WHERE start_ns IS NOT NULL
), k_island AS (
    SELECT capture, greatest(start_ns, coalesce(covered_ns, start_ns)) AS start_ns, end_ns FROM k_own WHERE covered_ns IS NULL OR end_ns > covered_ns
), k_upto AS (
    SELECT *, coalesce(sum(end_ns - start_ns) OVER (PARTITION BY capture ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before_ns
    FROM k_island
), g_own AS (   -- one row per collective for its group, and one for all groups together
    SELECT capture, 'group' AS what, group_name, start_ns, end_ns,
           max(end_ns) OVER (PARTITION BY capture, group_name ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
    FROM collective WHERE start_ns IS NOT NULL
    UNION ALL
    SELECT capture, 'all', NULL, start_ns, end_ns,
           max(end_ns) OVER (PARTITION BY capture ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
    FROM collective WHERE start_ns IS NOT NULL
), g_island AS (
    SELECT capture, what, group_name, greatest(start_ns, coalesce(covered_ns, start_ns)) AS start_ns, end_ns
    FROM g_own WHERE covered_ns IS NULL OR end_ns > covered_ns
), g_edge AS (
    SELECT capture, what, group_name, end_ns AS ts_ns, 1 AS sign FROM g_island UNION ALL SELECT capture, what, group_name, start_ns, -1 FROM g_island
), uncovered AS (
    SELECT g.capture, g.what, g.group_name, sum(g.sign * (g.ts_ns - coalesce(k.before_ns + least(k.end_ns, g.ts_ns) - k.start_ns, 0))) AS ns
    FROM g_edge AS g ASOF LEFT JOIN k_upto AS k ON k.capture = g.capture AND g.ts_ns >= k.start_ns
    GROUP BY ALL
), edge AS (
    SELECT capture, min(start_ns) AS first_ns, max(end_ns) AS last_ns
    FROM (SELECT capture, start_ns, end_ns FROM kernel UNION ALL SELECT capture, start_ns, end_ns FROM collective)
    WHERE capture IN (SELECT capture FROM capture WHERE executor = 'device') GROUP BY capture
), task AS (
    SELECT capture, step, start_ns, end_ns FROM kernel WHERE end_ns IS NOT NULL UNION ALL SELECT capture, step, start_ns, end_ns FROM collective WHERE end_ns IS NOT NULL
), chosen AS (
    SELECT capture, step, start_ns AS begun_ns, step - row_number() OVER (PARTITION BY capture ORDER BY step) AS part FROM step WHERE getvariable('steps') IS NOT NULL
), in_part AS (
    SELECT capture, part, start_ns, end_ns FROM task JOIN chosen USING (capture, step)
    UNION ALL
    SELECT t.capture, c.part, t.start_ns, t.end_ns FROM (FROM task WHERE step IS NULL) AS t ASOF JOIN chosen AS c ON c.capture = t.capture AND t.end_ns > c.begun_ns
), part AS (
    SELECT capture, part, min(start_ns) AS first_ns, max(end_ns) AS last_ns FROM in_part GROUP BY ALL
), hole AS (
    SELECT capture, sum(greatest(first_ns - before_ns, 0)) AS ns
    FROM (SELECT *, max(last_ns) OVER (PARTITION BY capture ORDER BY first_ns, part ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns FROM part)
    WHERE before_ns IS NOT NULL GROUP BY capture
), device AS (   -- the profiler's own analysis of the overlap counts only if it fits between the first and the last task. Only databases are read by step
    SELECT capture, min(first_ns) AS first_ns, max(last_ns) AS last_ns, sum(sdma_ns) AS sdma_ns, sum(sdma_count) AS sdma_count,
           CASE WHEN fits THEN sum(overlap_compute_ns) END AS overlap_compute_ns, CASE WHEN fits THEN sum(overlap_exposed_comm_ns) END AS overlap_exposed_comm_ns
    FROM (
        SELECT *, bool_and(overlap_compute_ns + coalesce(overlap_exposed_comm_ns, 0) <= last_ns - first_ns) OVER (PARTITION BY capture) AS fits FROM device_window
        WHERE getvariable('steps') IS NULL OR capture IN (SELECT capture FROM capture WHERE source = 'ascend_db')
    ) GROUP BY capture, fits
), lccl AS (
    SELECT capture, sum(end_ns - start_ns) AS ns FROM collective WHERE contains(lower(name), 'kernel_aivec') GROUP BY capture
), total AS (
    SELECT e.capture,
           coalesce(d.overlap_compute_ns, (SELECT sum(end_ns - start_ns) FROM k_island AS i WHERE i.capture = e.capture), 0) AS compute_ns,
           coalesce(d.overlap_exposed_comm_ns, (SELECT ns FROM uncovered AS u WHERE u.capture = e.capture AND u.what = 'all'), 0) AS uncovered_ns,
           CASE WHEN d.overlap_compute_ns IS NOT NULL THEN d.last_ns - d.first_ns
                ELSE greatest(e.last_ns, coalesce(d.last_ns, e.last_ns)) - least(e.first_ns, coalesce(d.first_ns, e.first_ns)) - coalesce(h.ns, 0) END AS e2e_ns,
           coalesce(d.sdma_ns, 0) AS sdma_ns, coalesce(d.sdma_count, 0) AS sdma_count, coalesce(l.ns, 0) AS lccl_ns
    FROM edge AS e LEFT JOIN device AS d USING (capture) LEFT JOIN lccl AS l USING (capture) LEFT JOIN hole AS h USING (capture)
), label(category, ord, depth, name) AS (VALUES
    ('flash_attention_forward', 10, 1, 'Flash Attention (Forward)'), ('flash_attention_forward_cube', 11, 2, 'Flash Attention (Forward) (Cube)'),
    ('flash_attention_forward_vector', 12, 2, 'Flash Attention (Forward) (Vector)'),
    ('flash_attention_backward', 20, 1, 'Flash Attention (Backward)'), ('flash_attention_backward_cube', 21, 2, 'Flash Attention (Backward) (Cube)'),
    ('flash_attention_backward_vector', 22, 2, 'Flash Attention (Backward) (Vector)'),
    ('conv_forward', 30, 1, 'Conv (Forward)'), ('conv_forward_cube', 31, 2, 'Conv (Forward) (Cube)'), ('conv_forward_vector', 32, 2, 'Conv (Forward) (Vector)'),
    ('conv_backward', 40, 1, 'Conv (Backward)'), ('conv_backward_cube', 41, 2, 'Conv (Backward) (Cube)'), ('conv_backward_vector', 42, 2, 'Conv (Backward) (Vector)'),
    ('matmul', 50, 1, 'Matmul'), ('matmul_cube', 51, 2, 'Matmul (Cube)'), ('matmul_vector', 52, 2, 'Matmul (Vector)'),
    ('paged_attention', 60, 1, 'Paged Attention'),
    ('vector', 70, 1, 'Vector'), ('vector_trans', 71, 2, 'Vector (Trans)'), ('vector_no_trans', 72, 2, 'Vector (No Trans)'),
    ('cube', 80, 1, 'Cube'), ('sdma_tensor_move', 90, 1, 'SDMA (Tensor Move)'), ('mc2', 95, 1, 'MC2')
), leaf AS (
    SELECT capture, msprof_category AS category, sum(end_ns - start_ns) AS ns, count(*) AS calls FROM kernel
    WHERE msprof_category <> 'other' GROUP BY ALL
), branch AS (
    SELECT capture, regexp_replace(regexp_replace(category, '_(cube|vector)$', ''), '^vector_.*', 'vector') AS category, sum(ns) AS ns, sum(calls) AS calls
    FROM leaf GROUP BY ALL
), classified AS (
    FROM branch UNION FROM leaf
), known AS (
    SELECT capture, sum(ns) AS ns, sum(calls) AS calls FROM leaf GROUP BY capture
), listed(capture, sheet, ord, depth, name, input_shapes, total_ns, calls) AS (
SELECT t.capture, 'OverallMetrics', 1, 0, 'Computing Time', NULL, t.compute_ns, coalesce(known.calls, 0) FROM total AS t LEFT JOIN known USING (capture)
UNION ALL SELECT c.capture, 'OverallMetrics', l.ord, l.depth, l.name, NULL, c.ns, c.calls FROM classified AS c JOIN label AS l USING (category)
UNION ALL SELECT t.capture, 'OverallMetrics', 99, 1, 'Other', NULL, greatest(t.compute_ns - coalesce(known.ns, 0), 0), NULL FROM total AS t LEFT JOIN known USING (capture)
UNION ALL SELECT capture, 'OverallMetrics', 100, 0, 'Uncovered Communication Time', NULL, uncovered_ns, NULL FROM total
UNION ALL SELECT capture, 'OverallMetrics', 200, 0, 'Free Time', NULL, e2e_ns - compute_ns - uncovered_ns - lccl_ns, NULL FROM total
UNION ALL SELECT capture, 'OverallMetrics', 210, 1, 'SDMA', NULL, sdma_ns, sdma_count FROM total WHERE sdma_count > 0
UNION ALL SELECT capture, 'OverallMetrics', 220, 1, 'Free', NULL, e2e_ns - compute_ns - uncovered_ns - lccl_ns - sdma_ns, NULL FROM total
UNION ALL SELECT capture, 'OverallMetrics', 300, 0, 'E2E Time', NULL, e2e_ns, NULL FROM total
UNION ALL SELECT capture, 'KernelCompare', 1000, 0, coalesce(op_type, 'N/A'), coalesce(input_shapes, 'N/A'), sum(sum_ns), sum(calls)
          FROM r_kernel WHERE capture IN (SELECT capture FROM kernel) GROUP BY capture, op_type, input_shapes
UNION ALL SELECT capture, 'ApiCompare', 2000, 0, name, NULL, sum(host_ns), sum(calls) FROM r_operator GROUP BY capture, name
), group_row AS (   -- groups of the same members in the order of their first use
    SELECT u.capture, coalesce(u.group_name, 'unknown group') AS name, u.ns,
           f.group_key || CASE WHEN f.position > 1 THEN ' (' || f.position || ')' ELSE '' END AS group_key
    FROM uncovered AS u
    JOIN (SELECT capture, group_name, group_key,
                 row_number() OVER (PARTITION BY capture, group_key ORDER BY min(start_ns), group_name) AS position
          FROM r_collective GROUP BY capture, group_name, group_key) AS f
      ON f.capture = u.capture AND f.group_name IS NOT DISTINCT FROM u.group_name
    WHERE u.what = 'group' AND u.capture IN (SELECT capture FROM total)
)
SELECT *, NULL AS group_key FROM listed
UNION ALL BY NAME
SELECT capture, 'OverallMetrics' AS sheet, 110 AS ord, 1 AS depth, name, group_key, NULL AS input_shapes, ns AS total_ns, NULL AS calls FROM group_row;
