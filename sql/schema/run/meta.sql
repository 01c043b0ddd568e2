-- What this store is. One row per key.
CREATE TABLE meta (
    key VARCHAR NOT NULL,    -- schema_version | rlcompare_version | name | events (kept: the event tables are filled; dropped: they are not there)
    value VARCHAR
);
