-- What this store is. One row per key.
CREATE TABLE meta (
    key VARCHAR NOT NULL,    -- schema_version | rlcompare_version | label | events ('kept' where the event tables are filled) | …
    value VARCHAR
);
