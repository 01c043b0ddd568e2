-- Copies by kind.
CREATE TABLE r_copy (
    capture INTEGER NOT NULL,
    device_id INTEGER,
    step BIGINT,
    phase VARCHAR,
    kind VARCHAR NOT NULL,
    calls BIGINT,
    sum_ns BIGINT,
    size_bytes BIGINT,        -- NULL where the profile has no sizes
    exposed_ns BIGINT
);
