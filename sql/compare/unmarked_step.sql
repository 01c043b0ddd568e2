-- Steps without marks in captures that mark others: the members, per side and run.
-- Depends on c_capture, c_time.
-- Nothing without c_capture, c_time.
SELECT t.side, t.run, t.step, list(DISTINCT c.member ORDER BY c.member) AS members
FROM c_time AS t JOIN c_capture AS c USING (side, run, capture)
WHERE t.step_ns IS NULL AND (t.side, t.run, t.capture) IN (SELECT (side, run, capture) FROM c_time WHERE step_ns IS NOT NULL)
GROUP BY t.side, t.run, t.step ORDER BY t.side, t.run, t.step;
