-- Phases of a training step on the host. Rows of one capture never overlap. If phases of several threads overlap, the time counts for the
-- phase that started last. The other phase continues after it, as another row of the same call.
CREATE TABLE phase (
    capture INTEGER NOT NULL,  -- capture.capture
    id INTEGER NOT NULL,       -- position in time within the capture; key with capture
    call INTEGER NOT NULL,     -- number of the call, by position in time; an interrupted call has several rows
    step BIGINT,               -- step.step; NULL: outside all steps
    role VARCHAR,              -- rollout | actor | ref | critic | reward; NULL: unknown
    name VARCHAR NOT NULL,     -- generate_sequences | reward | old_log_prob | ref_log_prob | values | adv | update_critic | update_actor | …, or a user's range
    start_ns BIGINT NOT NULL,  -- start on the host, in ns since the epoch
    end_ns BIGINT NOT NULL,    -- end on the host, in ns since the epoch
    inferred BOOLEAN NOT NULL,  -- TRUE: derived from the folder, not from a mark
    by_user BOOLEAN NOT NULL    -- TRUE: a range of the user's own, not a phase of an RL step
);
