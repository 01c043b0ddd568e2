-- One profiler window of one process.
CREATE TABLE capture (
    capture INTEGER NOT NULL,
    role VARCHAR,             -- rollout | actor | ref | critic | reward, where the folder says it (discrete mode); else NULL
    phase VARCHAR,            -- the phase that the whole capture is (discrete mode); else NULL
    replica INTEGER,          -- rollout replica; never a rank
    rank INTEGER,             -- global rank of the process, within a replica its rank there; NULL where unknown
    ordinal INTEGER NOT NULL, -- position in time among the captures of the same (role, phase, replica, rank), from 0
    step_hint BIGINT,         -- step number from the folder's name (verl's SP/{step}/…); else NULL
    step_place BIGINT,        -- without it, in verl's trees: the step that the order of captures in time gives; else NULL
    host VARCHAR,
    world_size INTEGER,
    tool VARCHAR NOT NULL,    -- npu | torch | nsys
    level VARCHAR,            -- Level_none | Level0 | Level1 | Level2
    source VARCHAR NOT NULL,  -- ascend_db | ascend_text | torch_trace | nsys
    path VARCHAR NOT NULL,    -- relative to the input that the user named
    host_start_ns BIGINT,     -- the profiler session, host clock
    host_end_ns BIGINT,
    executor VARCHAR NOT NULL -- device | host (a CPU-only trace has no device)
);
