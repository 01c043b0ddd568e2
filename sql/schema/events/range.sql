-- mstx, NVTX and annotation ranges and marks.
CREATE TABLE "range" (
    capture INTEGER NOT NULL,  -- capture.capture
    domain VARCHAR,            -- domain of mstx or NVTX; NULL: the default one
    name VARCHAR,              -- message of the range
    kind VARCHAR NOT NULL,     -- range | mark
    side VARCHAR NOT NULL,     -- host | device
    thread BIGINT,             -- thread on the host; NULL on the device
    stream BIGINT,             -- stream of the device; NULL on the host
    start_ns BIGINT,           -- start, in ns since the epoch
    end_ns BIGINT              -- end, in ns since the epoch; NULL if it has none
);
