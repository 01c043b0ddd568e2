-- The collectives themselves, in order: they are few, and ranks are aligned by ordinal, start and end.
CREATE TABLE r_collective (
    capture INTEGER NOT NULL,
    device_id INTEGER,
    step BIGINT,
    phase VARCHAR,
    kind VARCHAR NOT NULL,
    group_key VARCHAR NOT NULL, -- members where known ("0,1,2,3"), else "group N" by kinds and order of first use
    group_name VARCHAR,         -- as in the profile
    ordinal INTEGER NOT NULL,   -- within (step, kind, group_key), from 0
    name VARCHAR,
    start_ns BIGINT,
    end_ns BIGINT,
    wait_ns BIGINT,
    transit_ns BIGINT,
    size_bytes BIGINT,
    dtype VARCHAR,
    busy_ns BIGINT,
    exposed_ns BIGINT
);
