-- Peak memory by component.
CREATE TABLE r_memory (
    capture INTEGER NOT NULL,     -- capture.capture
    device_id INTEGER,            -- device; NULL: the host, or unknown
    component VARCHAR NOT NULL,   -- memory.component
    peak_allocated_bytes BIGINT,  -- peak of allocated bytes; NULL: unknown
    peak_reserved_bytes BIGINT,   -- peak of reserved bytes; NULL: unknown
    peak_active_bytes BIGINT      -- peak of bytes in use by streams; NULL: unknown
);
