-- How long the device was busy in each bucket of a stretch of r_timeline, by kind. Buckets are of equal length; the last one ends with the stretch.
CREATE TABLE r_timeline_busy (
    capture INTEGER NOT NULL,   -- capture.capture
    phase VARCHAR,              -- as in r_timeline
    kind VARCHAR NOT NULL,      -- compute | comm | copy (unions of tasks, whichever step or phase launched them); idle and waiting for the host: host; for the device's own queue: queue
    busy_ns BIGINT[] NOT NULL   -- by bucket, in the order of time
);
