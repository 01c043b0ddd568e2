-- Host ranges whose names are phases of an RL step (sql/normalize/phase_vocabulary). Holds all captures of the batch.
-- Variables: capture.
CREATE TEMP TABLE stage_phase (
    capture INTEGER NOT NULL DEFAULT getvariable('capture'),
    name VARCHAR,             -- the mark's text
    thread BIGINT,            -- NULL: unknown
    start_ns BIGINT,
    end_ns BIGINT
);
