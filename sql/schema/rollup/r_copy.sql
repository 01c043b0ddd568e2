-- Copies by kind.
CREATE TABLE r_copy (
    capture INTEGER NOT NULL,  -- capture.capture
    device_id INTEGER,         -- device; NULL: the host, or unknown
    step BIGINT,               -- step.step; NULL: outside all steps
    phase VARCHAR,             -- phase.name; NULL: outside all phases
    kind VARCHAR NOT NULL,     -- copy.kind
    calls BIGINT,              -- number of copies
    sum_ns BIGINT,             -- sum of their durations
    size_bytes BIGINT,         -- sum of their sizes; NULL if the profile has no sizes
    exposed_ns BIGINT          -- sum of copy.exposed_ns
);
