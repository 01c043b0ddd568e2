-- The longest device tasks in each stretch of r_timeline, at most 24.
CREATE TABLE r_timeline_event (
    capture INTEGER NOT NULL,   -- capture.capture
    phase VARCHAR,              -- as in r_timeline
    kind VARCHAR NOT NULL,      -- compute | comm | copy
    name VARCHAR,               -- operator type of a kernel, else its name; kind of a collective or copy; at most 200 characters
    start_ns BIGINT NOT NULL,   -- start, in ns since the epoch
    end_ns BIGINT NOT NULL      -- end, in ns since the epoch
);
