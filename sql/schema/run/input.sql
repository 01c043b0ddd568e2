-- The files that this store was made from, for its fingerprint.
CREATE TABLE input (
    path VARCHAR NOT NULL,       -- path, relative to the path that the user gave
    size_bytes BIGINT NOT NULL,  -- size of the file
    mtime_ns BIGINT NOT NULL,    -- modification time, in ns since the epoch
    digest VARCHAR NOT NULL      -- BLAKE2 of the first and the last 64 KiB
);
