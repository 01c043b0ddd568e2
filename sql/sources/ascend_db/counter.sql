-- AI Core frequency, HBM bandwidth and last-level cache.
-- The sources are read as text (sqlite_all_varchar), because NUMERIC time stamps would arrive as DOUBLE.
-- Variables: from_ns, holes, until_ns.
-- Depends on in_window, src_AICORE_FREQ, src_HBM, src_LLC, text_by_id.
-- Nothing without src_AICORE_FREQ + src_HBM + src_LLC.
INSERT INTO counter
SELECT capture, device_id, 'aicore_freq_mhz', ts_ns, mhz FROM src_AICORE_FREQ
WHERE ts_ns IS NOT NULL AND in_window(ts_ns);
INSERT INTO counter
SELECT h.capture, h.device_id, 'hbm_' || lower(coalesce(t.value, 'unknown')) || '_bytes_per_s', h.ts_ns, h.bandwidth
FROM src_HBM AS h LEFT JOIN text_by_id AS t ON t.capture = h.capture AND t.id = h.type WHERE h.ts_ns IS NOT NULL;
INSERT INTO counter
SELECT l.capture, l.device_id, 'llc_hit_percent', l.ts_ns, l.hit_rate
FROM src_LLC AS l WHERE l.ts_ns IS NOT NULL;
