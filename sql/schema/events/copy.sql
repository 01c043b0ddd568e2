-- Copies between host and device, or on a device.
CREATE TABLE copy (
    id BIGINT NOT NULL,        -- key with capture
    capture INTEGER NOT NULL,  -- capture.capture
    device_id INTEGER,         -- device; NULL: the host, or unknown
    stream BIGINT,             -- stream of the device; NULL: unknown
    step BIGINT,               -- step.step; NULL: outside all steps
    phase INTEGER,             -- phase.id; NULL: outside all phases
    kind VARCHAR NOT NULL,     -- host_to_device | device_to_host | device_to_device | memcpy_async (direction unknown) | memset
    size_bytes BIGINT,         -- size; NULL: unknown
    start_ns BIGINT,           -- start, in ns since the epoch
    end_ns BIGINT,             -- end, in ns since the epoch
    exposed_ns BIGINT          -- the part, within the device span, that no kernel, collective or earlier copy covers
);
