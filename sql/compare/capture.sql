-- The captures of both sides, for the document's header.
-- Depends on c_capture.
-- Nothing without c_capture.
SELECT side, run, capture, nullif(role, '') AS role, nullif(folder, '') AS phase, member, rank, replica, world_size, tool, level, source, path,
       host_start_ns, host_end_ns, executor
FROM c_capture ORDER BY side, run, capture;
