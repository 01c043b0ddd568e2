-- Sampled counters, with the names and units of a database: frequency in MHz, bandwidth in bytes per second, hit rate in percent (the trace
-- prints a ratio).
-- Variables: capture, text_device.
-- Depends on text_number, trace_event, trace_process.
INSERT INTO counter
SELECT getvariable('capture'), coalesce(getvariable('text_device'), device_id), name, start_ns, value
FROM (
    SELECT p.device_id, e.start_ns,
           CASE WHEN starts_with(e.name, 'AI Core Freq') THEN 'aicore_freq_mhz'
                WHEN regexp_full_match(e.name, 'HBM .*/(Read|Write)') THEN 'hbm_' || lower(regexp_extract(e.name, '/(Read|Write)$', 1)) || '_bytes_per_s'
                WHEN regexp_full_match(e.name, 'LLC .*/Hit Rate') THEN 'llc_hit_percent' END AS name,
           CASE WHEN starts_with(e.name, 'AI Core Freq') THEN text_number(e.args ->> 'MHz')
                WHEN starts_with(e.name, 'HBM ') THEN 1e6 * coalesce(text_number(e.args ->> 'Read(MB/s)'), text_number(e.args ->> 'Write(MB/s)'))
                ELSE 100 * text_number(e.args ->> 'Hit Rate(%)') END AS value
    FROM (FROM trace_event WHERE ph = 'C' AND start_ns IS NOT NULL) AS e LEFT JOIN trace_process AS p USING (pid)
) WHERE name IS NOT NULL AND value IS NOT NULL;
