-- Steps without marks in captures that mark others, per side and run: the steps, the members, and whether it is so
-- for each of the members in each of the steps.
-- Depends on c_capture, c_time.
-- Nothing without c_capture, c_time.
SELECT t.side, t.run, list(DISTINCT t.step ORDER BY t.step) AS steps, list(DISTINCT c.member ORDER BY c.member) AS members,
       count(DISTINCT (t.step, c.member)) = count(DISTINCT t.step) * count(DISTINCT c.member) AS each
FROM c_time AS t JOIN c_capture AS c USING (side, run, capture)
WHERE t.step_ns IS NULL AND (t.side, t.run, t.capture) IN (SELECT (side, run, capture) FROM c_time WHERE step_ns IS NOT NULL)
GROUP BY t.side, t.run ORDER BY t.side, t.run;
