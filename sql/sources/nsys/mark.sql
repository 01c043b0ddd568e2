-- NVTX marks and ranges with their domain. A range without an end was still open when the recording ended.
-- Variables: capture, nsys_all_ranges, nsys_epoch_ns.
-- Depends on is_span, nsys_here, nsys_message_bytes, nsys_text, profile_text, src_NVTX_EVENTS.
-- Nothing without src_NVTX_EVENTS.
CREATE OR REPLACE TEMP TABLE nsys_mark AS
WITH event AS (
    SELECT e.event_type, e.start_ns, e.end_ns, e.pid, e.thread, e.domain_id, coalesce(profile_text(e.text), t.value) AS name,
           nsys_message_bytes(coalesce(e.json, j.value)) AS message_bytes
    FROM src_NVTX_EVENTS AS e LEFT JOIN nsys_text AS t ON t.id = e.text_id LEFT JOIN nsys_text AS j ON j.id = e.json_id
    WHERE nsys_here(e.pid) OR getvariable('nsys_all_ranges')
), domain AS (
    SELECT pid, domain_id, any_value(name) AS name FROM event WHERE event_type = 75 GROUP BY pid, domain_id
)
SELECT d.name AS domain, e.name, e.message_bytes, e.thread, e.start_ns, e.end_ns, CASE WHEN e.event_type <> 34 AND e.end_ns > e.start_ns THEN 'range' ELSE 'mark' END AS kind,
       e.event_type <> 34 AND coalesce(e.end_ns < e.start_ns, TRUE) AS is_open
FROM event AS e LEFT JOIN domain AS d ON d.pid IS NOT DISTINCT FROM e.pid AND d.domain_id = e.domain_id
WHERE coalesce(e.event_type, 59) IN (34, 59, 60);
INSERT INTO "range"
SELECT getvariable('capture'), domain, name, kind, 'host', thread, NULL, start_ns, CASE kind WHEN 'range' THEN end_ns ELSE start_ns END
FROM nsys_mark WHERE start_ns IS NOT NULL AND name IS NOT NULL;
-- Steps are marked as by torch.profiler; rlcompare run also does that.
INSERT INTO stage_phase
SELECT getvariable('capture'), name, thread, start_ns, end_ns FROM nsys_mark WHERE kind = 'range' AND is_span(start_ns, end_ns);
INSERT INTO stage_step
SELECT getvariable('capture'), TRY_CAST(substr(name, 14) AS BIGINT) AS number, start_ns, end_ns
FROM nsys_mark WHERE kind = 'range' AND starts_with(name, 'ProfilerStep#') AND is_span(start_ns, end_ns) AND number IS NOT NULL;
