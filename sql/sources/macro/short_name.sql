-- A name of at most 128 characters: of a longer one its start, and a part of its hash, which tells it from others with that start. Without
-- running numbers, so that a name from which they were removed before becomes the same. short_of: of a long name without them.
-- Depends on bare_name.
CREATE OR REPLACE TEMP MACRO short_of(bare) AS left(bare, 112) || '…(' || left(md5(bare), 12) || ')';
CREATE OR REPLACE TEMP MACRO short_name(name) AS CASE WHEN length(name) > 128 THEN short_of(bare_name(name)) ELSE name END;
