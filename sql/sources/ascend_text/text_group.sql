-- Makes text_group: the communication groups that profiler_metadata.json lists, by the hash that operators carry. The hashes and members come as
-- the variables text_group_hashes and text_group_ranks, lists of the same length.
CREATE OR REPLACE TEMP TABLE text_group AS
SELECT DISTINCT ON (group_hash) group_hash, ranks
FROM (SELECT unnest(getvariable('text_group_hashes')::VARCHAR[]) AS group_hash, unnest(getvariable('text_group_ranks')::VARCHAR[]) AS ranks);
