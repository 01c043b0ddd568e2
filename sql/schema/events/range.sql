-- mstx, NVTX and annotation ranges and marks.
CREATE TABLE "range" (
    capture INTEGER NOT NULL,
    domain VARCHAR,
    name VARCHAR,
    kind VARCHAR NOT NULL,    -- range | mark
    side VARCHAR NOT NULL,    -- host | device
    thread BIGINT,
    stream BIGINT,
    start_ns BIGINT,
    end_ns BIGINT
);
