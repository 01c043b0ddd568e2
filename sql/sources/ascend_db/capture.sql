-- Adds properties of the capture that only the database has. Values that detection found are kept.
-- Depends on capture, src_HOST_INFO, src_RANK_DEVICE_MAP, src_SESSION_TIME_INFO.
UPDATE capture SET
    host_start_ns = coalesce(known.start_ns, capture.host_start_ns),
    host_end_ns = coalesce(known.end_ns, capture.host_end_ns),
    host = coalesce(capture.host, known.host),
    rank = coalesce(capture.rank, known.rank)
FROM (
    SELECT capture, min(start_ns) AS start_ns, max(end_ns) AS end_ns, min(host) AS host, min(rank) AS rank
    FROM (
        SELECT capture, start_ns, end_ns, NULL AS host, NULL AS rank FROM src_SESSION_TIME_INFO
        UNION ALL SELECT capture, NULL, NULL, host, NULL FROM src_HOST_INFO
        UNION ALL SELECT capture, NULL, NULL, NULL, rank FROM src_RANK_DEVICE_MAP
    ) GROUP BY capture
) AS known
WHERE capture.capture = known.capture;
