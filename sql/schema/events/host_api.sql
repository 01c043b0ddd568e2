-- CANN (acl, node, runtime, communication) or CUDA calls on the host.
CREATE TABLE host_api (
    capture INTEGER NOT NULL,
    thread BIGINT,
    layer VARCHAR NOT NULL,   -- acl | model | node | communication | runtime
    name VARCHAR,
    start_ns BIGINT,
    end_ns BIGINT,
    connection_id BIGINT
);
