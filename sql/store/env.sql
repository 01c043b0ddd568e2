-- Versions and settings of captures. Parameters: a list for each column.
INSERT INTO env SELECT unnest(CAST($1 AS INTEGER[])), unnest(CAST($2 AS VARCHAR[])), unnest(CAST($3 AS VARCHAR[]));
