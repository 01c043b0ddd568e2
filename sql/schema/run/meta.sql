-- Properties of this store, one row per key: schema_version, rlcompare_version, name of the run, events (kept | dropped: whether the store
-- has event tables), content (digest of what was measured, the same for a copy), started_ns (when the run started or first logged, in ns
-- since the epoch), status of the run (complete | incomplete | failed). What is unknown has no row.
CREATE TABLE meta (
    key VARCHAR NOT NULL,  -- name of the property
    value VARCHAR          -- value as text
);
