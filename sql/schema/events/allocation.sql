-- One row per allocation.
CREATE TABLE allocation (
    capture INTEGER NOT NULL,  -- capture.capture
    device_id INTEGER,         -- device; NULL: the host, or unknown
    name VARCHAR,              -- operator that asked for the memory; NULL: unknown
    size_bytes BIGINT,         -- size
    alloc_ns BIGINT,           -- time of the allocation, in ns since the epoch
    release_ns BIGINT,         -- time of the release, in ns since the epoch; NULL: not released within the capture
    duration_ns BIGINT         -- time between the two; NULL if not released
);
