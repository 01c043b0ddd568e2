-- Totals per call name as reported by the profiler (api_statistic.csv). Used if no host call was read for the capture.
CREATE TABLE reported_api (
    capture INTEGER NOT NULL,  -- capture.capture
    layer VARCHAR NOT NULL,    -- acl | model | node | communication | runtime
    name VARCHAR,              -- name of the call
    calls BIGINT,              -- number of calls
    total_ns BIGINT,           -- sum of their durations
    min_ns BIGINT,             -- shortest call
    max_ns BIGINT              -- longest call
);
