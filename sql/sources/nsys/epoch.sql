-- Start of the session, in nanoseconds since the epoch; 0 if the export does not state it (before 2021).
-- Depends on src_TARGET_INFO_SESSION_START_TIME.
SET VARIABLE nsys_epoch_ns = (SELECT coalesce(min(epoch_ns), 0) FROM src_TARGET_INFO_SESSION_START_TIME WHERE epoch_ns BETWEEN 0 AND 4000000000000000000);
