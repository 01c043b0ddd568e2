-- Memory level over time.
CREATE TABLE memory (
    capture INTEGER NOT NULL,    -- capture.capture
    device_id INTEGER,           -- device; NULL: the host, or unknown
    component VARCHAR NOT NULL,  -- PTA (PyTorch) | GE | PTA+GE (their sum) | APP | WORKSPACE | CPU | a CANN module
    ts_ns BIGINT,                -- time, in ns since the epoch; NULL: only peaks were kept
    allocated_bytes BIGINT,      -- bytes allocated; NULL: unknown
    reserved_bytes BIGINT,       -- bytes reserved by the allocator; NULL: unknown
    active_bytes BIGINT          -- bytes in use by streams; NULL: unknown
);
