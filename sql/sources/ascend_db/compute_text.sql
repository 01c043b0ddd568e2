-- Texts of each combination of ids. A step repeats a few hundred combinations, so texts are looked up once per combination and not once per
-- task. Those of shapes, types and formats are picked out first: each join would else hold all texts.
-- Depends on compute, text_by_id.
-- Nothing without compute.
CREATE OR REPLACE TEMP TABLE compute_text AS
WITH combination AS MATERIALIZED (
    SELECT DISTINCT capture, name, op_type, core_type, input_shapes, input_dtypes, input_formats, output_shapes, output_dtypes, output_formats FROM compute
), used AS (
    SELECT DISTINCT capture, unnest([core_type, input_shapes, input_dtypes, input_formats, output_shapes, output_dtypes, output_formats]) AS id FROM combination
), picked AS MATERIALIZED (
    SELECT t.capture, t.id, t.value FROM text_by_id AS t SEMI JOIN used AS u ON u.capture = t.capture AND u.id = t.id
)
SELECT c.*, n.value AS name_text, ot.value AS op_type_text, ct.value AS core_type_text,
       ish.value AS input_shapes_text, idt.value AS input_dtypes_text, ifm.value AS input_formats_text,
       osh.value AS output_shapes_text, odt.value AS output_dtypes_text, ofm.value AS output_formats_text
FROM combination AS c
LEFT JOIN text_by_id AS n ON n.capture = c.capture AND n.id = c.name
LEFT JOIN text_by_id AS ot ON ot.capture = c.capture AND ot.id = c.op_type
LEFT JOIN picked AS ct ON ct.capture = c.capture AND ct.id = c.core_type
LEFT JOIN picked AS ish ON ish.capture = c.capture AND ish.id = c.input_shapes
LEFT JOIN picked AS idt ON idt.capture = c.capture AND idt.id = c.input_dtypes
LEFT JOIN picked AS ifm ON ifm.capture = c.capture AND ifm.id = c.input_formats
LEFT JOIN picked AS osh ON osh.capture = c.capture AND osh.id = c.output_shapes
LEFT JOIN picked AS odt ON odt.capture = c.capture AND odt.id = c.output_dtypes
LEFT JOIN picked AS ofm ON ofm.capture = c.capture AND ofm.id = c.output_formats;
