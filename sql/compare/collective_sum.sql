-- Collectives of both sides by kind and group, with exact sums per divisor. If the sides share no group (different ranks, or members known
-- on one side only), all groups are merged into one, with key NULL.
-- Depends on c_collective, c_divisor, c_uneven.
-- Nothing without c_collective, c_divisor.
CREATE TABLE c_collective_sum AS
WITH shared AS (
    SELECT group_key FROM c_collective GROUP BY group_key HAVING count(DISTINCT side) = 2
)
SELECT side, divisor, kind, CASE WHEN EXISTS (FROM shared) THEN group_key END AS group_key,
       count(*) AS calls, sum(end_ns - start_ns) AS ns,
       CASE WHEN NOT EXISTS (FROM c_uneven WHERE what = 'collective_waits') THEN sum(wait_ns) END AS wait_ns,
       CASE WHEN NOT EXISTS (FROM c_uneven WHERE what = 'collective_waits') THEN sum(transit_ns) END AS transit_ns,
       CASE WHEN NOT EXISTS (FROM c_uneven WHERE what = 'collective_exposed') THEN sum(exposed_ns) END AS exposed_ns,
       CASE WHEN NOT EXISTS (FROM c_uneven WHERE what = 'collective_sizes') THEN sum(size_bytes) END AS bytes
FROM c_collective JOIN c_divisor USING (side, run, capture)
WHERE domain = 'device'
GROUP BY ALL;
