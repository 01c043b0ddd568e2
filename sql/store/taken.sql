-- The captures that are copied from a pack, by their numbers in the pack and in the run. The three variables are lists of equal length.
-- Variables: numbers, paths, places.
CREATE OR REPLACE TEMP TABLE taken AS
SELECT unnest(getvariable('places')) AS place, unnest(getvariable('numbers')) AS number, unnest(getvariable('paths')) AS path;
