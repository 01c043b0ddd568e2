-- Training's timers that are part of the step, by side.
-- Depends on c_timer.
-- Nothing without c_timer.
SELECT DISTINCT side, CAST(name AS VARCHAR) AS name FROM c_timer ORDER BY side, name;
