-- Runs in which members of the same role have different steps: one member with the most steps, and one with the fewest.
-- Depends on c_capture, c_step.
-- Nothing without c_capture.
WITH held AS (
    SELECT c.side, c.run, c.role, c.folder, c.member, coalesce(list_sort(list(DISTINCT s.step) FILTER (s.selected)), []) AS steps
    FROM c_capture AS c LEFT JOIN c_step AS s USING (side, run, capture) GROUP BY ALL
)
SELECT side, run, min_by(member, (-len(steps), steps, member)) AS most, min_by(steps, (-len(steps), steps, member)) AS most_steps,
       max_by(member, (-len(steps), steps, member)) AS fewest, max_by(steps, (-len(steps), steps, member)) AS fewest_steps
FROM held GROUP BY side, run, role, folder HAVING count(DISTINCT steps) > 1
ORDER BY side, run, role, folder;
