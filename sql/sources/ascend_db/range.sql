-- mstx marks and ranges; those of a framework database that has no MSTX_EVENTS come from PYTORCH_API (type 50004).
-- Depends on src_MSTX_EVENTS, src_ENUM_MSTX_EVENT_TYPE, framework, text_by_id.
INSERT INTO "range"
SELECT getvariable('capture'), d.value, m.value,
       CASE WHEN coalesce(t.name, '') LIKE 'marker%' OR e.end_ns IS NULL OR e.end_ns <= e.start_ns THEN 'mark' ELSE 'range' END,
       'host', e.thread, NULL, e.start_ns, e.end_ns
FROM src_MSTX_EVENTS AS e
LEFT JOIN src_ENUM_MSTX_EVENT_TYPE AS t ON t.id = e.event_type
LEFT JOIN text_by_id AS m ON m.id = e.message
LEFT JOIN text_by_id AS d ON d.id = e.domain
WHERE e.start_ns IS NOT NULL;
INSERT INTO "range"
SELECT getvariable('capture'), NULL, name, CASE WHEN end_ns > start_ns THEN 'range' ELSE 'mark' END, 'host', thread, NULL, start_ns, end_ns
FROM framework WHERE type = 50004 AND NOT EXISTS (FROM src_MSTX_EVENTS);
INSERT INTO stage_phase
SELECT name, start_ns, end_ns FROM "range" WHERE capture = getvariable('capture') AND kind = 'range' AND side = 'host';
