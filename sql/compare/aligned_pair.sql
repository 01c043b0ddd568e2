-- The pairs of different sequences of operators that are compared: of each member the most frequent one of its captures and runs on each side.
-- `part`: for what part of the members of its role and folder. If each side has one member only, they pair whatever their numbers.
-- Depends on c_capture, c_sequence.
-- Nothing without c_capture, c_sequence.
WITH counted AS (
    SELECT side, role, folder, member, hash, count(*) AS times FROM c_sequence JOIN c_capture USING (side, run, capture) GROUP BY ALL
), chosen AS (
    SELECT side, role, folder, member, arg_max(hash, {'times': times, 'hash': hash}) AS hash FROM counted GROUP BY side, role, folder, member
), sized AS (
    SELECT side, role, folder, count(*) AS members FROM chosen GROUP BY side, role, folder
), met AS (
    SELECT b.role, b.folder, b.hash AS baseline, n.hash AS new
    FROM chosen AS b JOIN sized AS p ON p.side = b.side AND p.role = b.role AND p.folder = b.folder
    JOIN chosen AS n ON n.role = b.role AND n.folder = b.folder
    JOIN sized AS q ON q.side = n.side AND q.role = n.role AND q.folder = n.folder
    WHERE b.side = 'baseline' AND n.side = 'new' AND (b.member = n.member OR (p.members = 1 AND q.members = 1))
), total AS (
    SELECT role, folder, count(*) AS members FROM met GROUP BY role, folder
)
SELECT m.baseline, m.new, count(*) / any_value(t.members) AS part
FROM met AS m JOIN total AS t ON t.role = m.role AND t.folder = m.folder
WHERE m.baseline <> m.new GROUP BY m.role, m.folder, m.baseline, m.new ORDER BY part DESC, m.baseline, m.new;
