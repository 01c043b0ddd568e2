-- What one call of a kernel computes and moves, from the shapes, types and formats of its tensors (docs/metrics.md, "Efficiency"); only kernels
-- for which that is certain, or has a certain upper limit. `flop` counts a multiplication and an addition as two.
--   gemm          2·batch·m·n·k. The profile does not tell which inputs are transposed: all ways that fit the output are tried, and they must
--                 agree. GPU kernels have the shapes of the operator that launched them, whose order is known.
--   grouped gemm  2·m·n·k over all rows of the input. How many of them belong to a group is not recorded: an upper limit.
--   attention     forward 2·b·h·s_q·s_kv·(d_qk + d_v), which is 4·b·h·s_q·s_kv·d where both are d; backward 2·b·h·s_q·s_kv·(3·d_qk + 2·d_v), 2.5
--                 times as much (FlashAttention, Dao 2022). With a mask that counts pairs that are left out: an upper limit.
--   memory        a kernel of the vector cores that reads all of its inputs: it has bytes only.
-- `bytes` counts each input and output once. FRACTAL_NZ holds a matrix of r × c as c/16 × r/16 × 16 × 16, filled up with zeros: its dimensions
-- count if another tensor has them without the filling, or from 512 on, where the filling is less than 3 %.
-- Depends on kernel, kernel_key, shaped_text, tensor_bytes, tensor_shapes, tensor_types, type_bytes.
-- Nothing without shaped_text.
CREATE OR REPLACE TEMP MACRO is_nz(format) AS regexp_full_match(coalesce(upper(format), ''), '(FORMAT_)?(FRACTAL_)?NZ');
CREATE OR REPLACE TEMP MACRO is_plain(format) AS regexp_full_match(coalesce(upper(format), 'ND'), '(FORMAT_)?(ND|NCL|NCHW|NHWC|NCDHW|NDHWC)');
CREATE OR REPLACE TEMP MACRO matrix(dims, format) AS CASE
    WHEN is_nz(format) AND len(dims) >= 4 THEN list_concat(dims[:-5], [dims[-3] * dims[-2], dims[-4] * dims[-1]])
    WHEN is_plain(format) AND len(dims) >= 2 THEN dims END;
CREATE OR REPLACE TEMP MACRO same_dimension(x, x_nz, y, y_nz) AS
    x = y OR (x_nz AND NOT y_nz AND x - y BETWEEN 0 AND 31) OR (y_nz AND NOT x_nz AND y - x BETWEEN 0 AND 31);
CREATE OR REPLACE TEMP MACRO dimension(x, x_nz, y, y_nz) AS CASE WHEN NOT x_nz THEN x WHEN NOT y_nz THEN y WHEN x >= 512 THEN x END;
CREATE OR REPLACE TEMP TABLE kernel_work (   -- apart from its query, as to find the columns of that takes long
    key BIGINT,
    work VARCHAR,
    at_most BOOLEAN,
    flop DOUBLE,
    bytes DOUBLE,
    precision VARCHAR
);
INSERT INTO kernel_work
WITH shared AS (   -- operators that launched several matrix kernels: their shapes are those of all of them together
    SELECT DISTINCT y.key FROM (
        SELECT capture, id FROM kernel WHERE output_shapes IS NULL AND host_op_id IS NOT NULL AND input_shapes IS NOT NULL AND ends_with(category, 'cube')
        QUALIFY count(*) OVER (PARTITION BY capture, host_op_id) > 1
    ) AS k JOIN kernel_key AS y USING (capture, id)
), text AS (
    SELECT lower(op_type) AS type, core_type, CASE WHEN output_shapes IS NULL AND ends_with(category, 'cube') THEN host_op END AS host_op,
           input_shapes, input_dtypes, input_formats, output_shapes, output_dtypes, output_formats, list(key) AS keys
    FROM shaped_text WHERE key NOT IN (FROM shared) GROUP BY ALL
), tensor AS (
    SELECT row_number() OVER () AS id, type, core_type, host_op, keys, tensor_shapes(input_shapes) AS ins, tensor_types(input_dtypes) AS in_types,
           string_split(input_formats, ';') AS in_formats, coalesce(tensor_shapes(output_shapes), []) AS outs,
           coalesce(tensor_types(output_dtypes), []) AS out_types, string_split(output_formats, ';') AS out_formats
    FROM text
), known AS (
    SELECT *, tensor_bytes(ins, in_types) + CASE WHEN len(outs) > 0 THEN tensor_bytes(outs, out_types) END AS bytes
    FROM tensor WHERE list_count(ins) = len(ins) AND list_count(outs) = len(outs)
), operand AS (   -- the matrices a and b, and their product c
    SELECT id, CASE WHEN contains(type, 'group') THEN 'grouped gemm' ELSE 'gemm' END AS work, bytes, matrix(ins[1], in_formats[1]) AS a,
           matrix(ins[2], in_formats[2]) AS b, matrix(outs[1], out_formats[1]) AS c, in_types[1] AS a_type, in_types[2] AS b_type,
           is_nz(in_formats[1]) AS a_nz, is_nz(in_formats[2]) AS b_nz, is_nz(out_formats[1]) AS c_nz
    FROM known
    WHERE len(outs) > 0 AND regexp_full_match(type, '(quant|weightquant)?(batch|grouped)?mat_?mul(v[0-9]+)?|gemm(v[0-9]+)?')
    UNION ALL
    SELECT id, 'gemm', (list_product(a) + list_product(b) + list_product(c)) * CASE WHEN a_type = b_type THEN type_bytes(a_type) END, a, b, c, a_type, b_type,
           FALSE, FALSE, FALSE
    FROM (SELECT *, list_concat(a[:-2], [b[-1]]) AS c FROM (
        SELECT id, ins[place] AS a, ins[place + 1] AS b, in_types[place] AS a_type, in_types[place + 1] AS b_type
        FROM (SELECT *, CASE WHEN host_op IN ('aten::mm', 'aten::bmm') THEN 1 WHEN host_op IN ('aten::addmm', 'aten::baddbmm') THEN 2 END AS place FROM known)
    )) WHERE len(a) = len(b) AND a[-1] = b[-2]
), turned AS (
    SELECT o.*, coalesce(list_product(a[:-3]), 1) AS a_batch, coalesce(list_product(b[:-3]), 1) AS b_batch, coalesce(list_product(c[:-3]), 1) AS c_batch,
           CASE WHEN ta.turn THEN a[-1] ELSE a[-2] END AS a_m, CASE WHEN ta.turn THEN a[-2] ELSE a[-1] END AS a_k,
           CASE WHEN tb.turn THEN b[-1] ELSE b[-2] END AS b_k, CASE WHEN tb.turn THEN b[-2] ELSE b[-1] END AS b_n, c[-2] AS c_m, c[-1] AS c_n
    FROM operand AS o, (VALUES (FALSE), (TRUE)) AS ta (turn), (VALUES (FALSE), (TRUE)) AS tb (turn)
), product AS (
    SELECT id, work, work = 'grouped gemm' AS at_most, a_type, b_type, bytes, 2 * CASE WHEN work = 'gemm' THEN c_batch ELSE 1 END
           * dimension(c_m, c_nz, a_m, a_nz) * dimension(c_n, c_nz, b_n, b_nz) * dimension(a_k, a_nz, b_k, b_nz) AS flop
    FROM turned
    WHERE same_dimension(c_m, c_nz, a_m, a_nz) AND same_dimension(c_n, c_nz, b_n, b_nz) AND same_dimension(a_k, a_nz, b_k, b_nz)
      AND CASE WHEN work = 'gemm' THEN a_batch IN (1, c_batch) AND b_batch IN (1, c_batch) ELSE a_batch = 1 AND 1 IN (b_batch, c_batch) END
), softmax AS (   -- the softmax's maxima have the dimensions (b, h, s_q, 8) in every layout but TND, which holds sequences of unknown lengths
    SELECT *, ends_with(type, 'grad') AS backward, list_filter(CASE WHEN ends_with(type, 'grad') THEN ins[5:] ELSE outs END, lambda s: len(s) = 4 AND s[4] = 8)[1] AS maxima
    FROM known WHERE regexp_full_match(type, 'flashattentionscore(grad)?(v[0-9]+)?')
), layout AS (
    SELECT id, backward, bytes, in_types, b, h, s, list_product(q) / (b * h * s) AS d, list_product(q) / (b * h * s) * list_product(v) / list_product(k) AS d_v,
           k_size / b AS k_size, list_distinct(list_filter(CASE WHEN len(q) = 3 THEN [
               CASE WHEN q[1] = b AND q[2] = s AND k[1] = b THEN k[2] END, CASE WHEN q[1] = s AND q[2] = b AND k[2] = b THEN k[1] END]
           WHEN len(q) = 4 THEN [
               CASE WHEN q[1:3] = [b, s, h] AND k[1] = b AND k[4] = q[4] THEN k[2] END, CASE WHEN q[1:3] = [b, h, s] AND k[1] = b AND k[4] = q[4] THEN k[3] END]
           END, lambda x: x IS NOT NULL)) AS lengths,
           len(list_filter(range(1, len(ins) + 1), lambda n: len(ins[n]) > 0 AND in_types[n] IN ('BOOL', 'UINT8'))) > 0 AS masked
    FROM (SELECT *, ins[1] AS q, ins[2] AS k, ins[3] AS v, list_product(ins[2]) AS k_size, maxima[1] AS b, maxima[2] AS h, maxima[3] AS s FROM softmax)
    WHERE len(q) = len(k) AND len(k) = len(v) AND least(list_product(q), list_product(k), list_product(v), b, h, s) > 0
), attention AS (
    SELECT id, masked AS at_most, in_types, bytes, 2 * b * h * s * lengths[1] * CASE WHEN backward THEN 3 * d + 2 * d_v ELSE d + d_v END AS flop
    FROM layout WHERE len(lengths) = 1 AND d = floor(d) AND d_v = floor(d_v) AND k_size % (lengths[1] * d) = 0
    UNION ALL
    SELECT id, TRUE, in_types, NULL, 2 * list_product(ins[1]) * ins[2][2] * (1 + ins[3][4] / ins[1][4])
    FROM known
    WHERE host_op IN ('aten::_flash_attention_forward', 'aten::_efficient_attention_forward') AND len(ins[1]) = 4 AND len(ins[2]) = 4 AND len(ins[3]) = 4
      AND ins[1][4] = ins[2][4] AND ins[1][4] > 0
), found AS (
    SELECT id, any_value(work) AS work, any_value(at_most) AS at_most, any_value(a_type) AS a_type, any_value(b_type) AS b_type, min(flop) AS flop,
           any_value(bytes) AS bytes
    FROM product GROUP BY id HAVING count(flop) = count(*) AND min(flop) = max(flop) AND min(flop) > 0
    UNION ALL
    SELECT id, 'attention', at_most, in_types[1], in_types[2], flop, bytes FROM attention
    UNION ALL   -- what may read or write a part of a tensor only is left out
    SELECT id, 'memory', FALSE, NULL, NULL, NULL, bytes FROM known
    WHERE core_type IN ('AI_VECTOR_CORE', 'MIX_AIV') AND bytes > 0
      AND NOT regexp_matches(type, 'gather|scatter|index|slice|^embedding|lookup|cache|view|strided|unique|nonzero|maskedselect|like$|fill$|attention|matmul')
      AND (list_max(list_transform(ins, lambda s: list_product(s))) <= list_sum(list_transform(outs, lambda s: list_product(s)))
           OR regexp_matches(type, 'reduce|norm|softmax|glu|crossentropy'))
)
SELECT unnest(t.keys) AS key, f.work, f.at_most, f.flop, f.bytes, CASE
           WHEN f.a_type IN ('FLOAT16', 'BFLOAT16') AND f.b_type IN (f.a_type, 'INT8', 'INT4') THEN 'half' WHEN f.a_type = 'INT8' AND f.b_type = 'INT8' THEN 'int8' END AS precision
FROM found AS f JOIN tensor AS t USING (id)
WHERE coalesce(f.flop, 0) < 1e21 AND coalesce(f.bytes, 0) < 1e21;   -- larger ones are damage, and their sums would not fit
