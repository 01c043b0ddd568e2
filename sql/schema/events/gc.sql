-- Garbage collections of the Python interpreter.
CREATE TABLE gc (
    capture INTEGER NOT NULL,
    thread BIGINT,
    start_ns BIGINT,
    end_ns BIGINT
);
