-- Mean AI Core frequency of each capture, by its place in the run; of several devices, the lowest.
-- Depends on capture, r_counter.
SELECT concat_ws(' ', c.role, c.phase, 'replica ' || c.replica, coalesce('rank ' || c.rank, 'the process'),
                 CASE WHEN c.ordinal > 0 THEN 'capture ' || c.ordinal END) AS member, min(r.mean) AS mhz
FROM r_counter AS r JOIN capture AS c USING (capture)
WHERE r.name = 'aicore_freq_mhz' AND r.mean > 0
GROUP BY member ORDER BY member;
