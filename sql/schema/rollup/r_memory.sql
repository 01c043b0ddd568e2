-- Highest memory level by component.
CREATE TABLE r_memory (
    capture INTEGER NOT NULL,     -- capture.capture
    device_id INTEGER,            -- device; NULL: the host, or unknown
    component VARCHAR NOT NULL,   -- memory.component
    peak_allocated_bytes BIGINT,  -- highest level allocated; NULL: unknown
    peak_reserved_bytes BIGINT,   -- highest level reserved; NULL: unknown
    peak_active_bytes BIGINT      -- highest level in use by streams; NULL: unknown
);
