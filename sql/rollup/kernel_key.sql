-- Kernels that are the same: name without running numbers, type, tensors and launching operator. `kernel_text` has these texts once for each key of a
-- capture, `shaped_text` those with shapes, `kernel_key` the key of each kernel. Tables that group kernels then compare numbers instead of texts.
-- Depends on bare_name, host_op, kernel.
-- Nothing without kernel.
CREATE OR REPLACE TEMP TABLE kernel_text AS
WITH alike AS (   -- the texts of a kernel, once; so that the operators are joined to numbers
    SELECT row_number() OVER () AS number, *
    FROM (
        SELECT capture, name, op_type, core_type, category, input_shapes, input_dtypes, input_formats, output_shapes, output_dtypes, output_formats,
               list(id) AS ids, list(host_op_id) AS host_op_ids
        FROM kernel GROUP BY ALL
    )
), launched AS (
    SELECT capture, number, unnest(ids) AS id, unnest(host_op_ids) AS host_op_id FROM alike
), named AS (
    SELECT l.number, h.name AS host_op, list(l.id) AS ids FROM launched AS l LEFT JOIN host_op AS h ON h.capture = l.capture AND h.id = l.host_op_id GROUP BY ALL
), bare AS (
    SELECT name, bare_name(name) AS bare FROM (SELECT DISTINCT name FROM alike WHERE name IS NOT NULL)
)
SELECT row_number() OVER () AS key, *
FROM (
    SELECT a.capture, b.bare AS name, a.op_type, a.core_type, a.category, a.input_shapes, a.input_dtypes, a.input_formats,
           a.output_shapes, a.output_dtypes, a.output_formats, n.host_op, flatten(list(n.ids)) AS ids
    FROM named AS n JOIN alike AS a ON a.number = n.number LEFT JOIN bare AS b ON b.name = a.name
    GROUP BY ALL
);
CREATE OR REPLACE TEMP TABLE kernel_key AS
SELECT capture, key, unnest(ids) AS id FROM kernel_text;
CREATE OR REPLACE TEMP TABLE shaped_text AS
SELECT * EXCLUDE ids FROM kernel_text WHERE input_shapes IS NOT NULL;
