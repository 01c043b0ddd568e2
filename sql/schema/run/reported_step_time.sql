-- Step times as reported by the profiler (StepTraceTime, step_trace_time.csv), for cross-checking only.
CREATE TABLE reported_step_time (
    capture INTEGER NOT NULL,   -- capture.capture
    device_id INTEGER,          -- device; NULL: unknown
    step BIGINT,                -- step number as reported; NULL: the whole capture
    compute_ns BIGINT,          -- computing
    exposed_comm_ns BIGINT,     -- communication, not overlapped
    overlapped_comm_ns BIGINT,  -- communication, overlapped
    comm_ns BIGINT,             -- communication
    free_ns BIGINT,             -- free
    stage_ns BIGINT,            -- stage
    bubble_ns BIGINT,           -- bubble
    preparing_ns BIGINT         -- preparing
);
