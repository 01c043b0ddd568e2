-- Totals per operator type as reported by the profiler (op_statistic.csv). Used if no kernel was read for the capture.
CREATE TABLE reported_kernel_type (
    capture INTEGER NOT NULL,  -- capture.capture
    device_id INTEGER,         -- device; NULL: unknown
    op_type VARCHAR,           -- operator type
    core_type VARCHAR,         -- AI_CORE | AI_VECTOR_CORE | MIX_AIC | AI_CPU | …
    calls BIGINT,              -- number of kernels
    total_ns BIGINT,           -- sum of their durations
    min_ns BIGINT,             -- shortest kernel
    max_ns BIGINT              -- longest kernel
);
