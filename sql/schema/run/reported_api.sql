-- Sums by call name that the profiler wrote itself (api_statistic.csv), used where no event of a call was read.
CREATE TABLE reported_api (
    capture INTEGER NOT NULL,  -- capture.capture
    layer VARCHAR NOT NULL,    -- acl | model | node | communication | runtime
    name VARCHAR,              -- name of the call
    calls BIGINT,              -- number of calls
    total_ns BIGINT,           -- sum of their durations
    min_ns BIGINT,             -- shortest call
    max_ns BIGINT              -- longest call
);
