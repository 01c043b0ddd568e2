-- In how many profiled steps each phase runs that not every step has, and of how many, on each side. Captures of one phase count for themselves.
-- Depends on c_capture, c_phase, c_time.
-- Nothing without c_capture, c_phase, c_time.
WITH profiled AS (
    SELECT c.side, c.role, c.folder, count(DISTINCT (t.run, t.step)) AS steps
    FROM c_time AS t JOIN c_capture AS c USING (side, run, capture) GROUP BY ALL
), ran AS (
    SELECT c.side, c.role, c.folder, p.phase, count(DISTINCT (p.run, p.step)) AS had
    FROM c_phase AS p JOIN c_capture AS c USING (side, run, capture) WHERE p.phase <> '(outside)' GROUP BY ALL
), most AS (   -- of several roles the one that runs it in most of its steps
    SELECT side, phase, arg_max(had, (had / steps, steps)) AS had, arg_max(steps, (had / steps, steps)) AS steps
    FROM ran JOIN profiled USING (side, role, folder) GROUP BY side, phase
), lengths AS (
    SELECT side, max(steps) AS steps FROM profiled GROUP BY side
), rare AS (
    SELECT phase FROM most GROUP BY phase HAVING bool_or(had < steps)
)
SELECT r.phase AS name,
       CAST(coalesce(sum(m.had) FILTER (s.side = 'baseline'), 0) AS BIGINT) AS baseline_had,
       CAST(coalesce(sum(coalesce(m.steps, s.steps)) FILTER (s.side = 'baseline'), 0) AS BIGINT) AS baseline_steps,
       CAST(coalesce(sum(m.had) FILTER (s.side = 'new'), 0) AS BIGINT) AS new_had,
       CAST(coalesce(sum(coalesce(m.steps, s.steps)) FILTER (s.side = 'new'), 0) AS BIGINT) AS new_steps
FROM rare AS r CROSS JOIN lengths AS s LEFT JOIN most AS m ON m.phase = r.phase AND m.side = s.side
GROUP BY r.phase ORDER BY r.phase;
