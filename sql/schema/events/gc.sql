-- Garbage collections of the Python interpreter.
CREATE TABLE gc (
    capture INTEGER NOT NULL,  -- capture.capture
    thread BIGINT,             -- thread on the host, numbered as in the profile; NULL: unknown
    start_ns BIGINT,           -- start, in ns since the epoch
    end_ns BIGINT              -- end, in ns since the epoch
);
