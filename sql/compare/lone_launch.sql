-- Calls of the operators that one side alone runs, by the place in the code that launches them: the phase and the framework operator.
-- Depends on c_kernel_sum, side_mean.
-- Nothing without c_kernel_sum.
WITH exact AS (
    SELECT op, phase, host_op, side, divisor, sum(calls) AS calls FROM c_kernel_sum
    WHERE host_op IS NOT NULL AND op IN (SELECT op FROM c_kernel_sum GROUP BY op HAVING count(DISTINCT side) = 1)
    GROUP BY ALL
)
SELECT op AS name, phase, host_op, side_mean(calls, divisor, TRUE) AS calls FROM exact GROUP BY op, phase, host_op ORDER BY ALL;
