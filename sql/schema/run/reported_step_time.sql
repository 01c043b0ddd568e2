-- What the profiler itself said about step times (StepTraceTime, step_trace_time.csv), for cross-checking only.
CREATE TABLE reported_step_time (
    capture INTEGER NOT NULL,
    device_id INTEGER,
    step BIGINT,
    compute_ns BIGINT,
    exposed_comm_ns BIGINT,
    overlapped_comm_ns BIGINT,
    comm_ns BIGINT,
    free_ns BIGINT,
    stage_ns BIGINT,
    bubble_ns BIGINT,
    preparing_ns BIGINT
);
