-- Allocations by operator.
CREATE TABLE r_allocation (
    capture INTEGER NOT NULL,
    device_id INTEGER,
    step BIGINT,              -- that of the time of allocation; NULL: outside all steps
    name VARCHAR,
    calls BIGINT,
    size_bytes BIGINT,        -- sum
    max_bytes BIGINT,
    unreleased_bytes BIGINT   -- sum of those not released within the capture
);
