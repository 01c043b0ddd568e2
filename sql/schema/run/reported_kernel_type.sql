-- Sums by operator type that the profiler wrote itself (op_statistic.csv), used where no kernel was read.
CREATE TABLE reported_kernel_type (
    capture INTEGER NOT NULL,
    device_id INTEGER,
    op_type VARCHAR,
    core_type VARCHAR,
    calls BIGINT,
    total_ns BIGINT,
    min_ns BIGINT,
    max_ns BIGINT
);
