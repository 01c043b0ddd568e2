-- Tasks that a collective is made of, by plane.
CREATE TABLE collective_task (
    capture INTEGER NOT NULL,
    collective_id BIGINT NOT NULL,
    name VARCHAR,             -- Notify_Wait | Notify_Record | Memcpy | Reduce_Inline | RDMASend | …
    plane BIGINT,
    start_ns BIGINT,
    end_ns BIGINT,
    size_bytes BIGINT,
    src_rank BIGINT,          -- index inside the group
    dst_rank BIGINT,
    transport VARCHAR,        -- SDMA | RDMA | LOCAL
    link_type VARCHAR         -- HCCS | PCIE | RDMA | ON_CHIP | SIO
);
