-- What a trace shows of both sides: spans on lanes. `member_order` and `lane_order` order processes and lanes.
-- Run by name: before the stores of both sides are read.
CREATE TABLE trace_event (
    side VARCHAR NOT NULL,          -- baseline | new
    member VARCHAR NOT NULL,        -- "rank 3", "replica 1", …: the process
    member_order BIGINT NOT NULL,   -- by replica and rank, as on the other side
    kind VARCHAR NOT NULL,          -- step | phase | compute | comm | copy | launch
    lane VARCHAR NOT NULL,          -- title of the lane
    lane_order BIGINT NOT NULL,
    name VARCHAR NOT NULL,
    start_ns BIGINT NOT NULL,
    end_ns BIGINT NOT NULL,
    args VARCHAR NOT NULL           -- members of a JSON object, without braces
);
CREATE TABLE trace_start (
    side VARCHAR NOT NULL,
    start_ns BIGINT NOT NULL        -- start of the compared step: the point at which the sides are aligned
);
