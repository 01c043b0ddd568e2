-- What the database alone knows of the capture; a value that detection found stays.
-- Variables: capture.
-- Depends on capture, src_HOST_INFO, src_RANK_DEVICE_MAP, src_SESSION_TIME_INFO.
UPDATE capture SET
    host_start_ns = coalesce((SELECT min(start_ns) FROM src_SESSION_TIME_INFO), host_start_ns),
    host_end_ns = coalesce((SELECT max(end_ns) FROM src_SESSION_TIME_INFO), host_end_ns),
    host = coalesce(host, (SELECT min(host) FROM src_HOST_INFO)),
    rank = coalesce(rank, (SELECT min(rank) FROM src_RANK_DEVICE_MAP))
WHERE capture = getvariable('capture');
