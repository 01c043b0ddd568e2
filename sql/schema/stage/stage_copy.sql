-- Copies between host and device, or on a device, as a source found them. Holds all captures of the batch.
-- Variables: capture.
CREATE TEMP TABLE stage_copy (
    capture INTEGER NOT NULL DEFAULT getvariable('capture'),
    id BIGINT NOT NULL,
    device_id INTEGER,
    stream BIGINT,
    kind VARCHAR NOT NULL,    -- host_to_device | device_to_host | device_to_device | memcpy_async (direction unknown)
    size_bytes BIGINT,
    start_ns BIGINT,
    end_ns BIGINT,
    reported_step BIGINT,
    launch_ns BIGINT,
    host_op_ns BIGINT
);
