-- Times of one capture, device, step and phase. Device parts of all phases and '(outside)' sum to those of r_time exactly.
CREATE TABLE r_phase (
    capture INTEGER NOT NULL,
    device_id INTEGER,
    step BIGINT NOT NULL,
    role VARCHAR,
    phase VARCHAR NOT NULL,   -- phase name, or '(outside)'
    wall_ns BIGINT,           -- host time of the phase's ranges; '(outside)': the step's rest, never below 0; NULL where neither is known
    calls BIGINT,             -- host ranges of that name in the step
    compute_ns BIGINT,
    comm_ns BIGINT,
    exposed_comm_ns BIGINT,
    free_ns BIGINT,           -- gaps of the device that end with a task of this phase
    kernels BIGINT,
    collectives BIGINT
);
