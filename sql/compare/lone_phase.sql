-- Ranges of the user's own that could be phases and that one side alone has.
-- Depends on unmatched_phase.
-- Nothing without unmatched_phase.
SELECT lone_side AS side, list(phase ORDER BY phase) AS phases FROM unmatched_phase WHERE lone_side IS NOT NULL GROUP BY lone_side ORDER BY lone_side;
