-- Phases of a training step on the host, flat: no two rows of a capture overlap. Where phases of several threads do, the time belongs
-- to the one that started last, and the other goes on after it, as another row of the same call.
CREATE TABLE phase (
    capture INTEGER NOT NULL,
    id INTEGER NOT NULL,      -- position in time within the capture
    call INTEGER NOT NULL,    -- position in time of the range that the row is of
    step BIGINT,
    role VARCHAR,
    name VARCHAR NOT NULL,    -- generate_sequences | reward | old_log_prob | ref_log_prob | values | adv | update_critic | update_actor | …
    start_ns BIGINT NOT NULL,
    end_ns BIGINT NOT NULL,
    inferred BOOLEAN NOT NULL -- TRUE: taken from the folder's role, not from a mark
);
