-- When the session began, in nanoseconds since the epoch; 0 where the export does not tell (before 2021).
-- Depends on src_TARGET_INFO_SESSION_START_TIME.
SET VARIABLE nsys_epoch_ns = (SELECT coalesce(min(epoch_ns), 0) FROM src_TARGET_INFO_SESSION_START_TIME WHERE epoch_ns BETWEEN 0 AND 4000000000000000000);
