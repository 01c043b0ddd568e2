-- Allocations by operator.
CREATE TABLE r_allocation (
    capture INTEGER NOT NULL,  -- capture.capture
    device_id INTEGER,         -- device; NULL: the host, or unknown
    step BIGINT,               -- step.step at the time of allocation; NULL: outside all steps
    name VARCHAR,              -- operator that asked for the memory
    calls BIGINT,              -- number of allocations
    size_bytes BIGINT,         -- sum of their sizes
    max_bytes BIGINT,          -- largest size
    unreleased_bytes BIGINT    -- sum of those not released within the capture
);
