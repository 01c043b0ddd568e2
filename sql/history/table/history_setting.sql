-- Versions and settings of each run: those of table env of its store.
CREATE TABLE IF NOT EXISTS history_setting (
    run VARCHAR NOT NULL,      -- history_run.run
    key VARCHAR NOT NULL,      -- chip, cann, torch_npu, data.train_batch_size, …
    value VARCHAR NOT NULL,    -- value as text
    divides BOOLEAN NOT NULL,  -- TRUE: runs with another value are not compared with this one (hardware, configuration)
    PRIMARY KEY (run, key)
);
