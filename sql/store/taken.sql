-- The captures that are taken from a pack, by their numbers in it and in the run. Variables: places, numbers, paths (lists of equal length).
CREATE OR REPLACE TEMP TABLE taken AS
SELECT unnest(getvariable('places')) AS place, unnest(getvariable('numbers')) AS number, unnest(getvariable('paths')) AS path;
