-- When one run started, and how it ended. Without a time of training's, it is when its first capture started.
-- Variables: run, side.
-- Depends on capture, meta.
CREATE TABLE IF NOT EXISTS c_run (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    started_ns BIGINT,  -- in ns since the epoch; NULL: unknown
    status VARCHAR      -- complete | incomplete | failed; NULL: unknown
);
INSERT INTO c_run
SELECT getvariable('side'), getvariable('run'),
       coalesce((SELECT TRY_CAST(value AS BIGINT) FROM store.meta WHERE key = 'started_ns'), (SELECT min(host_start_ns) FROM store.capture)),
       (SELECT value FROM store.meta WHERE key = 'status');
