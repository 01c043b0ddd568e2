-- One row per allocation.
CREATE TABLE allocation (
    capture INTEGER NOT NULL,
    device_id INTEGER,
    name VARCHAR,             -- the operator that asked for it
    size_bytes BIGINT,
    alloc_ns BIGINT,
    release_ns BIGINT,        -- NULL: not released within the capture
    duration_ns BIGINT
);
