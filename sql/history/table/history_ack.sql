-- Acknowledged changes. If a change has several rows, the one made last counts.
CREATE TABLE IF NOT EXISTS history_ack (
    run VARCHAR NOT NULL,     -- history_run.run of the first run after the change
    made_ns BIGINT NOT NULL,  -- when it was acknowledged, in ns since the epoch
    reason VARCHAR NOT NULL,  -- why the change is accepted
    author VARCHAR,           -- who acknowledged it, from git; NULL: unknown
    expires VARCHAR NOT NULL, -- last day on which it counts, in UTC: YYYY-MM-DD
    PRIMARY KEY (run, made_ns)
);
