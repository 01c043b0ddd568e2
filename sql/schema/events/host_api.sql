-- CANN (acl, node, runtime, communication) or CUDA calls on the host.
CREATE TABLE host_api (
    capture INTEGER NOT NULL,  -- capture.capture
    thread BIGINT,             -- thread on the host, numbered as in the profile; NULL: unknown
    layer VARCHAR NOT NULL,    -- acl | model | node | communication | runtime
    name VARCHAR,              -- name of the call
    start_ns BIGINT,           -- start, in ns since the epoch
    end_ns BIGINT,             -- end, in ns since the epoch
    connection_id BIGINT       -- number that links the call to the device tasks it launched; NULL: none
);
