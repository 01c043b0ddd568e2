-- Captures of one run, as members of groups.
-- A group is (role, folder): what one discrete folder records. A member is what a mean runs over: a rank, a replica, else the capture. A worker
-- group whose whole steps are recorded beside the trainer's (a critic with processes of its own) has ranks of its own.
-- Variables: ranks (empty: all), run, side.
-- Depends on capture.
CREATE TABLE IF NOT EXISTS c_capture (
    side VARCHAR NOT NULL,    -- baseline | new
    run INTEGER NOT NULL,     -- position among the runs of the side, from 0
    capture INTEGER NOT NULL,
    role VARCHAR NOT NULL,    -- '' where no folder says it
    folder VARCHAR NOT NULL,  -- the phase that the whole capture is (discrete mode); '' in end-to-end mode
    member VARCHAR NOT NULL,  -- "rank 3", "replica 1", "replica 1 rank 3", "critic rank 3", else "capture 0"
    rank INTEGER,             -- global; within a replica its own
    replica INTEGER,
    ordinal INTEGER NOT NULL, -- position in time among the captures of the same member and group
    host VARCHAR,
    world_size INTEGER,
    tool VARCHAR,
    level VARCHAR,
    source VARCHAR,
    path VARCHAR,
    host_start_ns BIGINT,
    host_end_ns BIGINT,
    executor VARCHAR
);
INSERT INTO c_capture
SELECT getvariable('side'), getvariable('run'), capture, coalesce(role, ''), coalesce(phase, ''),
       CASE WHEN replica IS NULL AND rank IS NULL THEN 'capture ' || ordinal
            ELSE concat_ws(' ', CASE WHEN phase IS NULL AND replica IS NULL THEN role END, 'replica ' || replica, 'rank ' || rank) END,
       rank, replica, ordinal, host, world_size, tool, level, source, path, host_start_ns, host_end_ns, executor
FROM store.capture
WHERE len(getvariable('ranks')) = 0 OR (replica IS NULL AND list_contains(getvariable('ranks'), rank));
