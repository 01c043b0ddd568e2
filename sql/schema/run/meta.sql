-- Properties of this store, one row per key.
CREATE TABLE meta (
    key VARCHAR NOT NULL,  -- schema_version | rlcompare_version | name | events (kept | dropped: whether the store has event tables)
    value VARCHAR          -- value as text
);
