-- Host ranges whose names are phases of an RL step (sql/normalize/phase_vocabulary). Of all captures that are read together.
-- Variables: capture.
CREATE TEMP TABLE stage_phase (
    capture INTEGER NOT NULL DEFAULT getvariable('capture'),
    name VARCHAR,             -- the mark's text
    thread BIGINT,            -- NULL where the source does not tell
    start_ns BIGINT,
    end_ns BIGINT
);
