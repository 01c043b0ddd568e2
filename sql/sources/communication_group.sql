-- Makes communication_group: the groups that each profiler_metadata.json lists, with the hash of their name and its last three digits,
-- which operators carry. The variables for captures, names, hashes and members are lists of equal length.
-- Variables: group_captures, group_hashes, group_names, group_ranks.
CREATE OR REPLACE TEMP TABLE communication_group AS
SELECT DISTINCT ON (capture, group_hash) capture, name, group_hash, right(group_hash, 3) AS digits, ranks
FROM (SELECT unnest(getvariable('group_captures')::INTEGER[]) AS capture, unnest(getvariable('group_names')::VARCHAR[]) AS name,
             unnest(getvariable('group_hashes')::VARCHAR[]) AS group_hash, unnest(getvariable('group_ranks')::VARCHAR[]) AS ranks);
