-- Makes communication_group: the groups that each profiler_metadata.json lists, with the hash of their name and its last three digits,
-- which operators carry. The variable is a JSON list of rows.
-- Variables: communication_groups.
CREATE OR REPLACE TEMP TABLE communication_group AS
SELECT DISTINCT ON (capture, group_hash) capture, name, group_hash, right(group_hash, 3) AS digits, ranks
FROM (SELECT unnest(from_json(getvariable('communication_groups'), '[{
          "capture": "INTEGER", "name": "VARCHAR", "group_hash": "VARCHAR", "ranks": "VARCHAR"
      }]'), recursive := TRUE));
