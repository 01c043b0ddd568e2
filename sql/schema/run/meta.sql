-- What this store is. One row per key.
CREATE TABLE meta (
    key VARCHAR NOT NULL,  -- schema_version | rlcompare_version | name | events (kept | dropped: whether the event tables are there)
    value VARCHAR          -- value as text
);
