-- Marks of training steps, as the sources read them: of one step there may be several, and marks may overlap. Holds all captures of the batch.
-- Variables: capture.
CREATE TEMP TABLE stage_step (
    capture INTEGER NOT NULL DEFAULT getvariable('capture'),
    step BIGINT NOT NULL,     -- the profiler's number
    start_ns BIGINT,          -- on the host; NULL: without a usable time
    end_ns BIGINT
);
