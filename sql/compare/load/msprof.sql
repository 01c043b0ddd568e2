-- The tables of `msprof-analyze compare` of one run.
-- Variables: run, side.
-- Depends on c_capture, is_head, known_as, own_or_others, r_msprof.
-- Nothing without c_capture, r_msprof.
CREATE TABLE IF NOT EXISTS c_msprof (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    sheet VARCHAR NOT NULL,
    ord INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    name VARCHAR,
    group_key VARCHAR,        -- rows of communication groups: the key that matches them
    input_shapes VARCHAR,
    total_ns DOUBLE,
    calls BIGINT
);
INSERT INTO c_msprof
WITH headed AS (
    SELECT * REPLACE (known_as(name) AS name), is_head(known_as(name)) OR name IS NULL OR sheet = 'OverallMetrics' AS head FROM store.r_msprof
), named AS (   -- rows that stand for others are added up
    SELECT * REPLACE (own_or_others(name, head) AS name, CASE WHEN head THEN input_shapes END AS input_shapes),
           CASE WHEN head THEN ord END AS place
    FROM headed
)
SELECT c.side, c.run, c.capture, r.sheet, min(r.ord), r.depth, r.name, r.group_key, r.input_shapes, sum(r.total_ns ORDER BY r.ord), CAST(sum(r.calls) AS BIGINT)
FROM named AS r
JOIN c_capture AS c ON c.capture = r.capture AND c.side = getvariable('side') AND c.run = getvariable('run')
GROUP BY c.side, c.run, c.capture, r.sheet, r.depth, r.name, r.group_key, r.input_shapes, r.place;
