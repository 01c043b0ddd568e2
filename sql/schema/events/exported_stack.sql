-- What export_stacks wrote: time of framework operators by call stack. Frames from the outermost, joined with ";", shortened.
CREATE TABLE exported_stack (
    capture INTEGER NOT NULL,   -- capture.capture
    frames VARCHAR NOT NULL,    -- frames from the outermost, joined with ';', shortened
    operators BIGINT NOT NULL,  -- number of operators in the file: those of at least 1 us
    self_ns BIGINT NOT NULL     -- time of the operators, of the host or of the device; the file does not say which
);
