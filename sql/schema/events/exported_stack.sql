-- Time of framework operators by call stack, from export_stacks.
CREATE TABLE exported_stack (
    capture INTEGER NOT NULL,   -- capture.capture
    frames VARCHAR NOT NULL,    -- frames from the outermost, joined with ';', shortened
    operators BIGINT NOT NULL,  -- number of operators in the file, which lists only those of at least 1 us
    self_ns BIGINT NOT NULL     -- time of the operators on the host or on the device; the file does not say which
);
