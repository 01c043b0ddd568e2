-- Aggregates of each metric over the values that count, per run: median, mean of the middle 80 %, 5th and 95th percentile (values of steps), and
-- the highest and the lowest mean of ten neighbouring steps (of all, if there are fewer).
-- Depends on c_judged, in_part.
-- Nothing without c_judged.
WITH windowed AS (
    SELECT side, run, name, step, avg(value) OVER (PARTITION BY side, run, enum_code(name) ORDER BY step ROWS 9 PRECEDING) AS mean,
           row_number() OVER (PARTITION BY side, run, enum_code(name) ORDER BY step) AS place
    FROM c_judged WHERE in_part(name)
), sorted AS (
    SELECT side, run, name, count(*) AS steps, list(value ORDER BY value) AS of FROM c_judged WHERE in_part(name) GROUP BY side, run, name
), extreme AS (   -- fewer than ten steps have one mean, that of all
    SELECT side, run, name, coalesce(max(mean) FILTER (place >= 10), arg_max(mean, place)) AS highest,
           coalesce(min(mean) FILTER (place >= 10), arg_max(mean, place)) AS lowest
    FROM windowed GROUP BY side, run, name
)
SELECT s.side, s.run, s.name, s.steps, (s.of[1 + (s.steps - 1) // 2] + s.of[1 + s.steps // 2]) / 2 AS median,
       list_avg(s.of[1 + s.steps // 10 : s.steps - s.steps // 10]) AS trimmed, s.of[greatest(1, ceil(0.05 * s.steps)::BIGINT)] AS p5,
       s.of[ceil(0.95 * s.steps)::BIGINT] AS p95, e.highest, e.lowest
FROM sorted AS s JOIN extreme AS e USING (side, run, name) ORDER BY enum_code(s.name), s.side, s.run;
