-- The metrics of each run: all that the section overall of a diff holds.
CREATE TABLE IF NOT EXISTS history_value (
    run VARCHAR NOT NULL,     -- history_run.run
    metric VARCHAR NOT NULL,  -- name, such as timing_s/step or memory.peak_reserved
    unit VARCHAR NOT NULL,    -- unit of the value; empty: none, or unknown
    value DOUBLE NOT NULL,    -- value of the run; a metric that was not measured has no row
    PRIMARY KEY (run, metric)
);
