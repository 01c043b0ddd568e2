-- The runs of a history.
CREATE TABLE IF NOT EXISTS history_run (
    run VARCHAR PRIMARY KEY,       -- identifies what the run measured: the same for a copy of its files; key of this table
    number BIGINT NOT NULL UNIQUE, -- number in the order of adding, from 1; never changes
    name VARCHAR NOT NULL,         -- name of the run's folder or file
    started_ns BIGINT NOT NULL,    -- start of the run, in ns since the epoch; if unknown, when it was added
    start_known BOOLEAN NOT NULL,  -- FALSE: started_ns is when it was added
    added_ns BIGINT NOT NULL,      -- when it was added, in ns since the epoch
    label VARCHAR,                 -- the user's label; NULL: none
    commit_id VARCHAR,             -- commit of the code that ran; NULL: unknown
    author VARCHAR,                -- author of that commit; NULL: unknown
    dirty BOOLEAN,                 -- TRUE: files differed from that commit; NULL: unknown
    status VARCHAR NOT NULL,       -- ok | failed | incomplete | unstable; only ok runs are searched for changes, or used for the noise
    reason VARCHAR,                -- why the status is not ok; NULL: it is
    headline VARCHAR NOT NULL,     -- metric by which the speed of its step is judged
    config VARCHAR NOT NULL,       -- digest of the settings that divide runs (history_setting.divides)
    rlcompare VARCHAR NOT NULL     -- version of rlcompare that read the run
);
