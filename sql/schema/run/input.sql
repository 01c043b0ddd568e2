-- The files that this store was made from, for its fingerprint.
CREATE TABLE input (
    path VARCHAR NOT NULL,    -- relative to the input that the user named
    size_bytes BIGINT NOT NULL,
    mtime_ns BIGINT NOT NULL,
    digest VARCHAR NOT NULL   -- BLAKE2 of the first and the last 64 KiB
);
