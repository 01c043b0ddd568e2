-- Memory level over time.
CREATE TABLE memory (
    capture INTEGER NOT NULL,
    device_id INTEGER,
    component VARCHAR NOT NULL, -- PTA | GE | PTA+GE (a sum row) | APP | WORKSPACE | a CANN module
    ts_ns BIGINT,
    allocated_bytes BIGINT,
    reserved_bytes BIGINT,
    active_bytes BIGINT
);
