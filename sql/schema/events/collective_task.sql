-- Tasks that a collective is made of, by plane.
CREATE TABLE collective_task (
    capture INTEGER NOT NULL,       -- capture.capture
    collective_id BIGINT NOT NULL,  -- collective.id
    name VARCHAR,                   -- Notify_Wait | Notify_Record | Memcpy | Reduce_Inline | RDMASend | …; NULL: unknown (Level0)
    plane BIGINT,                   -- plane of the collective that the task runs on
    start_ns BIGINT,                -- start, in ns since the epoch
    end_ns BIGINT,                  -- end, in ns since the epoch
    size_bytes BIGINT,              -- bytes transferred; NULL: none
    src_rank BIGINT,                -- sender: index inside the group
    dst_rank BIGINT,                -- receiver: index inside the group
    transport VARCHAR,              -- SDMA | RDMA | LOCAL; NULL: unknown
    link_type VARCHAR               -- HCCS | PCIE | RDMA | ON_CHIP | SIO; NULL: unknown
);
