-- What export_stacks wrote: time of framework operators by call stack. Frames from the outermost, joined with ";", shortened.
CREATE TABLE exported_stack (
    capture INTEGER NOT NULL,
    frames VARCHAR NOT NULL,
    operators BIGINT NOT NULL,  -- how many the file lists: those of a microsecond and more
    self_ns BIGINT NOT NULL     -- of the host or of the device, as was asked for; the file does not say
);
