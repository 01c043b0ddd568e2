-- Phases of a training step on the host, flat: no two rows of a capture overlap. Where phases of several threads do, the time belongs
-- to the one that started last, and the other goes on after it, as another row of the same call.
CREATE TABLE phase (
    capture INTEGER NOT NULL,  -- capture.capture
    id INTEGER NOT NULL,       -- position in time within the capture; key with capture
    call INTEGER NOT NULL,     -- position in time of the range that the row belongs to; a call that is interrupted has several rows
    step BIGINT,               -- step.step; NULL: outside all steps
    role VARCHAR,              -- rollout | actor | ref | critic | reward; NULL: unknown
    name VARCHAR NOT NULL,     -- generate_sequences | reward | old_log_prob | ref_log_prob | values | adv | update_critic | update_actor | …
    start_ns BIGINT NOT NULL,  -- start on the host, in ns since the epoch
    end_ns BIGINT NOT NULL,    -- end on the host, in ns since the epoch
    inferred BOOLEAN NOT NULL  -- TRUE: from the folder's role, not from a mark
);
