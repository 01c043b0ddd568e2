-- Properties of a history, one row per key.
CREATE TABLE IF NOT EXISTS history_meta (
    key VARCHAR PRIMARY KEY,  -- schema: number of the version of these tables
    value VARCHAR NOT NULL    -- value as text
);
