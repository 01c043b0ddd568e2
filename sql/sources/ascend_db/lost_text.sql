-- Makes lost_text: how many kernels and collectives of a capture refer to a text that STRING_IDS lacks, so that their name, type, inputs or group are
-- unknown. They would look like other work. `is_much`: they are a considerable part (1 of 200 kernels, or of their time; any collective).
-- A text that says that a value is absent (N/A) is there; a name is never absent.
-- Depends on communication_op, compute, compute_text, task, text_by_id.
-- Nothing without communication_op + compute, communication_op + compute_text.
CREATE OR REPLACE TEMP TABLE lost_text AS
WITH used AS (
    SELECT capture, unnest([name, op_type, core_type, input_shapes, input_dtypes]) AS id FROM compute_text
    UNION SELECT capture, unnest([op_type, group_name]) FROM communication_op WHERE NOT is_lost
), missing AS MATERIALIZED (
    SELECT u.capture, u.id FROM used AS u ANTI JOIN text_by_id AS t ON t.capture = u.capture AND t.id = u.id WHERE u.id >= 0
), bare AS MATERIALIZED (
    SELECT DISTINCT capture, name, op_type, core_type, input_shapes, input_dtypes FROM compute_text
    WHERE name_text IS NULL OR (capture, op_type) IN (FROM missing) OR (capture, core_type) IN (FROM missing)
       OR (capture, input_shapes) IN (FROM missing) OR (capture, input_dtypes) IN (FROM missing)
), kernel_of AS (
    SELECT k.capture, b.capture IS NOT NULL AS is_bare, t.end_ns - t.start_ns AS ns
    FROM (FROM compute WHERE capture IN (SELECT capture FROM bare)) AS k
    LEFT JOIN bare AS b USING (capture, name, op_type, core_type, input_shapes, input_dtypes) LEFT JOIN task AS t USING (capture, task_id)
)
SELECT capture, 'kernels' AS what, count(*) FILTER (is_bare) AS lost, count(*) AS rows,
       lost * 200 > rows OR coalesce(sum(ns) FILTER (is_bare) * 200 > sum(ns), FALSE) AS is_much
FROM kernel_of GROUP BY capture
UNION ALL
SELECT o.capture, 'collectives', count(*) FILTER (t.value IS NULL OR (o.capture, o.op_type) IN (FROM missing) OR (o.capture, o.group_name) IN (FROM missing)) AS lost,
       count(*), TRUE
FROM communication_op AS o LEFT JOIN text_by_id AS t ON t.capture = o.capture AND t.id = o.name WHERE NOT o.is_lost
GROUP BY o.capture HAVING lost > 0;
