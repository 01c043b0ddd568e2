-- mstx ranges that are in PYTORCH_API (type 50004), if a database of the framework has no MSTX_EVENTS; and the ranges of the host as candidates for phases.
-- Depends on db_capture, framework, range, src_MSTX_EVENTS, text_by_id.
-- Nothing without db_capture + framework, framework + range.
INSERT INTO "range"
SELECT f.capture, NULL, n.value, CASE WHEN f.end_ns > f.start_ns THEN 'range' ELSE 'mark' END, 'host', f.thread, NULL, f.start_ns, f.end_ns
FROM framework AS f LEFT JOIN text_by_id AS n ON n.capture = f.capture AND n.id = f.name
WHERE f.type = 50004 AND f.sound AND f.capture NOT IN (SELECT capture FROM src_MSTX_EVENTS);
INSERT INTO stage_phase
SELECT capture, name, thread, start_ns, end_ns FROM "range"
WHERE capture IN (SELECT capture FROM db_capture) AND kind = 'range' AND side = 'host';
