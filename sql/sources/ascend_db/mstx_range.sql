-- mstx marks and ranges. Those on a stream are also tasks of the device.
-- Depends on src_ENUM_MSTX_EVENT_TYPE, src_MSTX_EVENTS, task, text_by_id.
-- Nothing without src_MSTX_EVENTS.
INSERT INTO "range"
SELECT e.capture, d.value, m.value,
       CASE WHEN coalesce(t.name, '') LIKE 'marker%' OR e.end_ns IS NULL OR e.end_ns <= e.start_ns THEN 'mark' ELSE 'range' END,
       'host', e.thread, NULL, e.start_ns, e.end_ns
FROM src_MSTX_EVENTS AS e
LEFT JOIN src_ENUM_MSTX_EVENT_TYPE AS t ON t.capture = e.capture AND t.id = e.event_type
LEFT JOIN text_by_id AS m ON m.capture = e.capture AND m.id = e.message
LEFT JOIN text_by_id AS d ON d.capture = e.capture AND d.id = e.domain
WHERE e.start_ns IS NOT NULL;
INSERT INTO "range"
SELECT e.capture, d.value, m.value, CASE WHEN t.end_ns > t.start_ns THEN 'range' ELSE 'mark' END, 'device', NULL, t.stream, t.start_ns, t.end_ns
FROM src_MSTX_EVENTS AS e JOIN task AS t USING (capture, connection_id)
LEFT JOIN text_by_id AS m ON m.capture = e.capture AND m.id = e.message
LEFT JOIN text_by_id AS d ON d.capture = e.capture AND d.id = e.domain;
