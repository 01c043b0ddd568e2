-- The names, as hashes, that keep rows of their own: of each kind half as many as are very many, with the most time on both sides together. Returns the most names
-- of one kind.
-- Variables: most_names.
-- Depends on c_weight.
-- Run by name: when the names of all stores are known.
CREATE TABLE c_head AS
WITH summed AS (
    SELECT place, name, sum(ns) AS ns FROM c_weight GROUP BY ALL
)
SELECT DISTINCT name FROM (FROM summed QUALIFY row_number() OVER (PARTITION BY place ORDER BY ns DESC, name) <= getvariable('most_names') / 2);
SELECT max(names) FROM (SELECT count(DISTINCT name) AS names FROM c_weight GROUP BY place);
