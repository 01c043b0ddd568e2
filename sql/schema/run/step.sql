-- Training steps of a capture. A capture without step marks is one step (inferred).
CREATE TABLE step (
    capture INTEGER NOT NULL,  -- capture.capture
    step BIGINT NOT NULL,      -- step number: the profiler's, else the folder's, else the capture's position in time; key with capture
    start_ns BIGINT,           -- start on the host, in ns since the epoch; NULL if inferred
    end_ns BIGINT,             -- end on the host, in ns since the epoch; NULL if inferred
    inferred BOOLEAN NOT NULL  -- TRUE: there are no step marks, and the capture is one step
);
