-- The captures that are taken from a pack, by their numbers in it and in the run. The three variables are lists of equal length.
-- Variables: numbers, paths, places.
CREATE OR REPLACE TEMP TABLE taken AS
SELECT unnest(getvariable('places')) AS place, unnest(getvariable('numbers')) AS number, unnest(getvariable('paths')) AS path;
