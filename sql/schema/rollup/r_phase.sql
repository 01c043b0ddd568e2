-- Times per capture, device, step and phase. The device times of all phases and '(outside)' add up exactly to those of r_time.
CREATE TABLE r_phase (
    capture INTEGER NOT NULL,  -- capture.capture
    device_id INTEGER,         -- device; NULL: the host, or unknown
    step BIGINT NOT NULL,      -- step.step
    role VARCHAR,              -- phase.role; NULL: unknown, or (outside)
    phase VARCHAR NOT NULL,    -- phase.name, or '(outside)'
    by_user BOOLEAN NOT NULL,  -- phase.by_user; FALSE for '(outside)'
    wall_ns BIGINT,            -- host time of the phase; '(outside)': the rest of the step, at least 0; NULL: unknown
    calls BIGINT,              -- number of calls in the step; NULL for '(outside)'
    compute_ns BIGINT,         -- share of r_time.compute_ns
    comm_ns BIGINT,            -- share of r_time.comm_ns
    exposed_comm_ns BIGINT,    -- share of r_time.exposed_comm_ns
    free_ns BIGINT,            -- gaps of the device that end with a task of this phase; share of r_time.free_ns
    kernels BIGINT,            -- number of kernels
    collectives BIGINT         -- number of collectives
);
