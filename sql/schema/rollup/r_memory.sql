-- Highest memory level by component.
CREATE TABLE r_memory (
    capture INTEGER NOT NULL,
    device_id INTEGER,
    component VARCHAR NOT NULL,
    peak_allocated_bytes BIGINT,
    peak_reserved_bytes BIGINT,
    peak_active_bytes BIGINT
);
