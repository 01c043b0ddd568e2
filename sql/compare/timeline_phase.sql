-- What both sides have a timeline of: phases, and the whole step (NULL).
-- Depends on c_timeline.
-- Nothing without c_timeline.
SELECT phase FROM c_timeline GROUP BY phase HAVING count(DISTINCT side) = 2 ORDER BY phase;
