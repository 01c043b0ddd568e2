-- Calls into CANN, and until launch has run, call: all rows of CANN_API, because a second scan takes longer than a copy. The layer communication of schema 1.2 was called hccl before.
-- Variables: from_ns, holes, until_ns.
-- Depends on in_window, is_span, src_CANN_API, src_ENUM_API_TYPE, text_by_id.
-- Nothing without src_CANN_API.
CREATE OR REPLACE TEMP TABLE call AS FROM src_CANN_API;
INSERT INTO host_api
SELECT a.capture, a.thread,
       CASE e.name WHEN 'hccl' THEN 'communication' ELSE coalesce(e.name, 'unknown') END,
       n.value, a.start_ns, a.end_ns, a.connection_id
FROM call AS a
LEFT JOIN src_ENUM_API_TYPE AS e ON e.capture = a.capture AND e.id = a.type
LEFT JOIN text_by_id AS n ON n.capture = a.capture AND n.id = a.name
WHERE is_span(a.start_ns, a.end_ns)
  AND in_window(a.start_ns);
