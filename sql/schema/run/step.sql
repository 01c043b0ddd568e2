-- Training steps of a capture. A capture without step marks is one step (inferred).
CREATE TABLE step (
    capture INTEGER NOT NULL,
    step BIGINT NOT NULL,     -- the profiler's step number, else the step folder's, else the capture's place in time
    start_ns BIGINT,          -- host range; NULL where inferred
    end_ns BIGINT,
    inferred BOOLEAN NOT NULL
);
