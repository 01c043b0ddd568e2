-- Transfers by group and pair of ranks.
CREATE TABLE r_link (
    capture INTEGER NOT NULL,
    step BIGINT,
    kind VARCHAR NOT NULL,
    group_key VARCHAR,        -- that of the group's collectives (r_collective); "unlisted group N", largest first, where none were read
    src_rank BIGINT,          -- global rank where group_key lists the members, else index inside the group
    dst_rank BIGINT,
    transport VARCHAR,
    size_bytes BIGINT,
    transit_ns BIGINT
);
