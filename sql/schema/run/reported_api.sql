-- Sums by call name that the profiler wrote itself (api_statistic.csv), used where no event of a call was read.
CREATE TABLE reported_api (
    capture INTEGER NOT NULL,
    layer VARCHAR NOT NULL,   -- acl | model | node | communication | runtime
    name VARCHAR,
    calls BIGINT,
    total_ns BIGINT,
    min_ns BIGINT,
    max_ns BIGINT
);
