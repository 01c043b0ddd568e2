-- Captures as detection found them. Parameters: a list for each column.
INSERT INTO capture BY NAME
SELECT unnest(CAST($1 AS INTEGER[])) AS capture, unnest(CAST($2 AS VARCHAR[])) AS role, unnest(CAST($3 AS VARCHAR[])) AS phase, unnest(CAST($4 AS INTEGER[])) AS replica,
       unnest(CAST($5 AS INTEGER[])) AS rank, unnest(CAST($6 AS INTEGER[])) AS ordinal, unnest(CAST($7 AS BIGINT[])) AS step_hint, unnest(CAST($8 AS BIGINT[])) AS step_place,
       unnest(CAST($9 AS INTEGER[])) AS world_size, unnest(CAST($10 AS VARCHAR[])) AS tool, unnest(CAST($11 AS VARCHAR[])) AS level, unnest(CAST($12 AS VARCHAR[])) AS source,
       unnest(CAST($13 AS VARCHAR[])) AS path, unnest(CAST($14 AS BIGINT[])) AS host_start_ns, 'device' AS executor;
