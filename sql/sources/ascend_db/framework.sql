-- Rows of the framework that are used below, in one scan, because the table is the largest of all: operators (50001), mstx ranges (50004)
-- and, of the Python trace (50003), the calls of nn.Module. Of the chosen steps only. Depends on src_PYTORCH_API, text_by_id.
CREATE OR REPLACE TEMP TABLE framework AS
SELECT row_number() OVER () AS id, start_ns, end_ns, is_span(start_ns, end_ns) AS sound, thread, connection_id, name, type,
       CASE WHEN getvariable('keep_events') THEN sequence_number END AS sequence_number,
       CASE WHEN getvariable('keep_events') THEN input_shapes END AS input_shapes,
       CASE WHEN getvariable('keep_events') THEN input_dtypes END AS input_dtypes
FROM src_PYTORCH_API
WHERE in_window(start_ns)
  AND (type = 50001 OR type = 50004 OR (type = 50003 AND name IN (SELECT id FROM text_by_id WHERE starts_with(value, 'nn.Module: '))));
