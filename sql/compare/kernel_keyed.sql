-- Kernels of both sides with the key that matches them. For loosely matched operators the key is phase, launching host operator, number of
-- dimensions of each input, and data types. Dimensions that vary among them become `*`.
-- Depends on c_kernel_match, c_kernel_sum.
-- Nothing without c_kernel_match, c_kernel_sum.
CREATE TABLE c_kernel_keyed AS
WITH loose AS (
    SELECT DISTINCT s.op, s.phase, s.host_op, s.input_dtypes, s.input_shapes,
           regexp_replace(s.input_shapes, '[^,;]+', '#', 'g') AS outline   -- the number of dimensions of each input
    FROM c_kernel_sum AS s JOIN c_kernel_match AS m USING (op) WHERE m.loose AND s.input_shapes IS NOT NULL
), token AS (   -- each dimension with the separator after it
    SELECT l.*, unnest(regexp_extract_all(input_shapes, '[^,;]*[,;]|[^,;]+$')) AS token,
           generate_subscripts(regexp_extract_all(input_shapes, '[^,;]*[,;]|[^,;]+$'), 1) AS place
    FROM loose AS l
), fixed AS (
    SELECT op, phase, host_op, input_dtypes, outline, place,
           CASE WHEN min(token) = max(token) THEN min(token) ELSE '*' || regexp_extract(min(token), '[,;]$') END AS token
    FROM token GROUP BY ALL
), pattern AS (
    SELECT op, phase, host_op, input_dtypes, outline, string_agg(token, '' ORDER BY place) AS pattern FROM fixed GROUP BY ALL
)
SELECT s.side, s.divisor, s.op, s.category, m.loose,
       CASE WHEN m.loose THEN coalesce(p.pattern, s.input_shapes) ELSE s.input_shapes END AS input_shapes,
       CASE WHEN m.loose THEN s.input_dtypes END AS input_dtypes,
       CASE WHEN m.loose THEN s.phase END AS phase,
       CASE WHEN m.loose THEN s.host_op END AS host_op,
       s.calls, s.ns, s.max_ns, s.busy_ns, s.gap_ns, s.elements, s.input_shapes AS exact_shapes, s.input_dtypes AS exact_dtypes,
       s.phase AS exact_phase, s.host_op AS exact_host_op, s.work, s.at_most, s.flop, s.bytes, s.possible_flop,
       s.input_formats, s.blocks, s.counted_ns, s.cube_ns, s.load_ns, s.l2_counted_ns, s.l2_hit_ns
FROM c_kernel_sum AS s
JOIN c_kernel_match AS m USING (op)
LEFT JOIN pattern AS p ON m.loose AND p.op = s.op AND p.phase IS NOT DISTINCT FROM s.phase AND p.host_op IS NOT DISTINCT FROM s.host_op
 AND p.input_dtypes IS NOT DISTINCT FROM s.input_dtypes AND p.outline = regexp_replace(s.input_shapes, '[^,;]+', '#', 'g');
