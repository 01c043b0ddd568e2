-- Phases of a training step on the host.
CREATE TABLE phase (
    capture INTEGER NOT NULL,
    id INTEGER NOT NULL,      -- position in time within the capture
    step BIGINT,
    role VARCHAR,
    name VARCHAR NOT NULL,    -- generate_sequences | reward | old_log_prob | ref_log_prob | values | adv | update_critic | update_actor | …
    start_ns BIGINT NOT NULL,
    end_ns BIGINT NOT NULL,
    inferred BOOLEAN NOT NULL -- TRUE: taken from the folder's role, not from a mark
);
