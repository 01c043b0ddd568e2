-- Device times of operators are not compared if some members have the profiler's own sums, which contain collectives and copies.
-- Depends on c_capture, c_operator.
-- Nothing without c_capture, c_operator.
INSERT INTO c_uneven
WITH operators AS (
    SELECT c.side, count(o.device_total_ns) > 0 AS operator_times, bool_or(o.is_sum AND o.device_total_ns IS NOT NULL) AS has_sums
    FROM c_operator AS o JOIN c_capture AS c USING (side, run, capture) GROUP BY c.side, c.run, c.role, c.folder, c.member
)
SELECT DISTINCT side, 'operator_sums' FROM operators WHERE has_sums AND EXISTS (FROM operators WHERE operator_times AND NOT has_sums);
