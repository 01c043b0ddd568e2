-- Host ranges whose names are phases of an RL step (sql/normalize/phase_vocabulary). One capture at a time.
CREATE TEMP TABLE stage_phase (
    name VARCHAR,             -- the mark's text
    thread BIGINT,            -- NULL where the source does not tell
    start_ns BIGINT,
    end_ns BIGINT
);
