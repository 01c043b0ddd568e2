-- Kernels that are the same: name without running numbers, type, tensors and launching operator. `kernel_text` has these texts once for each key of a
-- capture, `kernel_key` the key of each kernel. Tables that group kernels then compare numbers instead of texts.
-- Depends on bare_name, host_op, kernel.
-- Nothing without kernel.
CREATE OR REPLACE TEMP TABLE kernel_text AS
WITH bare AS (
    SELECT name, bare_name(name) AS bare FROM (SELECT DISTINCT name FROM kernel WHERE name IS NOT NULL)
), grouped AS (
    SELECT k.capture, b.bare AS name, k.op_type, k.core_type, k.category, k.input_shapes, k.input_dtypes, k.input_formats,
           k.output_shapes, k.output_dtypes, k.output_formats, h.name AS host_op, list(k.id) AS ids
    FROM kernel AS k
    LEFT JOIN host_op AS h ON h.capture = k.capture AND h.id = k.host_op_id
    LEFT JOIN bare AS b ON b.name = k.name
    GROUP BY ALL
)
SELECT row_number() OVER () AS key, * FROM grouped;
CREATE OR REPLACE TEMP TABLE kernel_key AS
SELECT capture, key, unnest(ids) AS id FROM kernel_text;
