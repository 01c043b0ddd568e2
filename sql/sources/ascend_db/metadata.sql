-- Rows of META_DATA, for the environment's allowlist.
-- Depends on src_META_DATA.
-- Nothing without src_META_DATA.
SELECT capture, name, value FROM src_META_DATA WHERE name IS NOT NULL AND value IS NOT NULL;
