-- How often each rank started an aligned collective last, by aligned clocks, and by how much: the straggler makes the others wait.
-- Depends on capture, r_collective.
WITH started AS (
    SELECT c.role, c.phase, c.replica, c.rank, l.step, l.kind, l.group_key, l.ordinal, l.start_ns - coalesce(c.ahead_ns, 0) AS start_ns
    FROM r_collective AS l JOIN capture AS c USING (capture)
    WHERE c.rank IS NOT NULL AND l.step IS NOT NULL
), ranked AS (
    SELECT *, count(*) OVER same AS ranks, row_number() OVER (same ORDER BY start_ns DESC) AS place,
           start_ns - lead(start_ns) OVER (same ORDER BY start_ns DESC) AS late_ns
    FROM started WINDOW same AS (PARTITION BY role, phase, replica, step, kind, group_key, ordinal)
)
SELECT replica, rank, count(*) AS collectives, count(*) FILTER (WHERE place = 1) AS started_last,
       sum(late_ns) FILTER (WHERE place = 1) / 1e6 AS behind_the_next_ms
FROM ranked WHERE ranks > 1 GROUP BY replica, rank ORDER BY started_last DESC, replica, rank;
