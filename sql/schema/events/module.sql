-- Spans of nn.Module calls.
CREATE TABLE module (
    capture INTEGER NOT NULL,
    thread BIGINT,
    name VARCHAR,             -- "nn.Module: Conv2d_0" without its prefix
    start_ns BIGINT,
    end_ns BIGINT
);
