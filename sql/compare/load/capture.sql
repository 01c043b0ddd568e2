-- Captures of one run, as members of groups.
-- A group is (role, folder): the captures of one discrete folder. Means are taken over members: a member is a rank, a replica, else a
-- capture. A worker group that is recorded in whole steps beside the trainer (a critic with its own processes) has its own ranks.
-- Variables: ranks (empty: all), run, side.
-- Depends on c_unmarked, capture.
-- Nothing without capture.
CREATE TABLE IF NOT EXISTS c_capture (
    side VARCHAR NOT NULL,    -- baseline | new
    run INTEGER NOT NULL,     -- position among the runs of the side, from 0
    capture INTEGER NOT NULL,
    role VARCHAR NOT NULL,    -- '' if no folder names it
    folder VARCHAR NOT NULL,  -- the one phase that the capture covers (discrete mode); '' in end-to-end mode
    member VARCHAR NOT NULL,  -- "rank 3", "replica 1", "replica 1 rank 3", "critic rank 3", else "capture 0"
    rank INTEGER,             -- global rank, or the rank within the replica
    replica INTEGER,
    ordinal INTEGER NOT NULL, -- position in time among the captures of the same member and group
    ahead_ns BIGINT,          -- how far its clock is ahead
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
       rank, replica, ordinal, ahead_ns, world_size, tool, level, source, path, host_start_ns, host_end_ns, executor
FROM store.capture
WHERE (len(getvariable('ranks')) = 0 OR (replica IS NULL AND list_contains(getvariable('ranks'), rank)))
  AND capture NOT IN (SELECT capture FROM c_unmarked WHERE side = getvariable('side') AND run = getvariable('run'));
