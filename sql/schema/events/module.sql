-- Spans of nn.Module calls.
CREATE TABLE module (
    capture INTEGER NOT NULL,  -- capture.capture
    thread BIGINT,             -- thread on the host, numbered as in the profile; NULL: unknown
    name VARCHAR,              -- class and number, such as Conv2d_0
    start_ns BIGINT,           -- start, in ns since the epoch
    end_ns BIGINT              -- end, in ns since the epoch
);
