-- Copies between host and device, or on a device.
CREATE TABLE copy (
    id BIGINT NOT NULL,
    capture INTEGER NOT NULL,
    device_id INTEGER,
    stream BIGINT,
    step BIGINT,
    phase INTEGER,
    kind VARCHAR NOT NULL,
    size_bytes BIGINT,
    start_ns BIGINT,
    end_ns BIGINT,
    exposed_ns BIGINT         -- the part, within the device span, that neither a kernel nor a collective nor an earlier copy covers
);
