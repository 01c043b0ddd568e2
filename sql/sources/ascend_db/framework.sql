-- Rows of the framework that are used below, read once: operators (50001) and mstx ranges (50004).
-- Depends on src_PYTORCH_API, text_by_id.
CREATE OR REPLACE TEMP TABLE framework AS
SELECT row_number() OVER () AS id, p.start_ns, p.end_ns, p.thread, p.connection_id, n.value AS name, p.sequence_number,
       p.input_shapes, p.input_dtypes, p.type
FROM src_PYTORCH_API AS p LEFT JOIN text_by_id AS n ON n.id = p.name
WHERE p.type IN (50001, 50004) AND p.start_ns IS NOT NULL AND p.end_ns >= p.start_ns
  AND NOT coalesce(starts_with(n.value, 'ProfilerStep#'), FALSE);
