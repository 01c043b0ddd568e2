-- One profiler window of one process.
CREATE TABLE capture (
    capture INTEGER NOT NULL,  -- number of the capture; key of this table
    role VARCHAR,              -- rollout | actor | ref | critic | reward, if the folder names it (discrete mode); else NULL
    phase VARCHAR,             -- the one phase that the capture covers (discrete mode); else NULL
    replica INTEGER,           -- number of the rollout replica (not a rank); NULL: none
    rank INTEGER,              -- global rank of the process, or its rank within the replica; NULL: unknown
    ordinal INTEGER NOT NULL,  -- position in time among the captures of the same (role, phase, replica, rank), from 0
    step_hint BIGINT,          -- step number from the folder's name (verl's SP/{step}/…); else NULL
    step_place BIGINT,         -- in verl's trees, if step_hint is NULL: step number derived from the time order of the captures; else NULL
    host VARCHAR,              -- name of the machine; NULL: unknown
    world_size INTEGER,        -- number of processes of the job; NULL: unknown
    tool VARCHAR NOT NULL,     -- npu | torch | nsys | torch_memory
    level VARCHAR,             -- profiler level: Level_none | Level0 | Level1 | Level2; NULL: unknown, or not an NPU profile
    source VARCHAR NOT NULL,   -- format of the input: ascend_db | ascend_text | torch_trace | nsys | torch_memory
    path VARCHAR NOT NULL,     -- path of the input, relative to the path that the user gave
    host_start_ns BIGINT,      -- start of the profiler session on the host, in ns since the epoch; NULL: unknown
    host_end_ns BIGINT,        -- end of the profiler session on the host, in ns since the epoch; NULL: unknown
    ahead_ns BIGINT,           -- how far its clock is ahead of that of the first machine, by the ends of collectives that machines share; NULL: none was shared
    executor VARCHAR NOT NULL  -- device | host (a trace without a device)
);
