-- The pieces of a step in which the device only communicates, in order of time. They are the rows of r_account of the kinds wait, transfer and
-- comm, which the run stage makes of them once the collectives of all ranks are known.
CREATE TABLE r_exposed (
    capture INTEGER NOT NULL,    -- capture.capture
    device_id INTEGER,           -- device; NULL: the host, or unknown
    step BIGINT NOT NULL,        -- step.step
    phase VARCHAR,               -- phase.name; NULL: outside all phases
    kind VARCHAR NOT NULL,       -- collective.kind
    group_name VARCHAR,          -- communication group, as in the profile
    group_ranks VARCHAR,         -- global ranks of the group; NULL: unknown
    dtype VARCHAR,               -- data type; NULL: unknown
    start_ns BIGINT NOT NULL,    -- start of the collective, in ns since the epoch
    from_ns BIGINT NOT NULL,     -- start of the piece, in ns since the epoch
    until_ns BIGINT NOT NULL     -- end of the piece, in ns since the epoch
);
