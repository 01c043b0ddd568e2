-- mstx marks and ranges. If a database of the framework has no MSTX_EVENTS, they come from PYTORCH_API (type 50004).
-- Depends on db_capture, framework, range, src_ENUM_MSTX_EVENT_TYPE, src_MSTX_EVENTS, task, text_by_id.
-- Nothing without db_capture + framework + src_MSTX_EVENTS, framework + range + src_MSTX_EVENTS.
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
SELECT f.capture, NULL, n.value, CASE WHEN f.end_ns > f.start_ns THEN 'range' ELSE 'mark' END, 'host', f.thread, NULL, f.start_ns, f.end_ns
FROM framework AS f LEFT JOIN text_by_id AS n ON n.capture = f.capture AND n.id = f.name
WHERE f.type = 50004 AND f.sound AND f.capture NOT IN (SELECT capture FROM src_MSTX_EVENTS);
-- Marks and ranges on a stream are also tasks of the device.
INSERT INTO "range"
SELECT e.capture, d.value, m.value, CASE WHEN t.end_ns > t.start_ns THEN 'range' ELSE 'mark' END, 'device', NULL, t.stream, t.start_ns, t.end_ns
FROM src_MSTX_EVENTS AS e JOIN task AS t USING (capture, connection_id)
LEFT JOIN text_by_id AS m ON m.capture = e.capture AND m.id = e.message
LEFT JOIN text_by_id AS d ON d.capture = e.capture AND d.id = e.domain;
INSERT INTO stage_phase
SELECT capture, name, thread, start_ns, end_ns FROM "range"
WHERE capture IN (SELECT capture FROM db_capture) AND kind = 'range' AND side = 'host';
