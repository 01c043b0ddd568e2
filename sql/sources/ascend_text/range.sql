-- mstx ranges and marks. On the host, they are events with an event_type. On a device, they are tasks at which an MsTx flow ends.
-- Variables: capture.
-- Depends on profile_text, range, trace_event, trace_process.
INSERT INTO "range"
SELECT getvariable('capture'), profile_text(args ->> 'domain'), profile_text(name),
       CASE WHEN starts_with(args ->> 'event_type', 'marker') OR end_ns <= start_ns THEN 'mark' ELSE 'range' END,
       'host', tid, NULL, start_ns, end_ns
FROM trace_event
WHERE ph = 'X' AND cat IS NULL AND start_ns IS NOT NULL AND contains(args, '"event_type"') AND (args ->> 'event_type') IS NOT NULL;
INSERT INTO "range"
SELECT getvariable('capture'), NULL, profile_text(e.name), CASE WHEN e.end_ns > e.start_ns THEN 'range' ELSE 'mark' END,
       'device', NULL, e.tid, e.start_ns, e.end_ns
FROM trace_event AS e
JOIN (FROM trace_process WHERE name = 'Ascend Hardware') AS p USING (pid)
JOIN (SELECT DISTINCT pid, tid, start_ns FROM trace_event WHERE ph = 'f' AND cat = 'MsTx') AS f USING (pid, tid, start_ns)
WHERE e.ph = 'X' AND NOT contains(e.args, '"Task Type"');
INSERT INTO stage_phase
SELECT capture, name, thread, start_ns, end_ns FROM "range" WHERE capture = getvariable('capture') AND kind = 'range' AND side = 'host';
