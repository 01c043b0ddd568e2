-- A typical step of each capture: the first of those that call the same operators equally often, and are the most.
-- Depends on r_operator.
-- Nothing without r_operator.
CREATE OR REPLACE TEMP TABLE sequence_step AS
WITH called AS (
    SELECT capture, step, name, sum(calls) AS calls FROM r_operator WHERE step IS NOT NULL GROUP BY ALL
), alike AS (
    SELECT capture, step, sum(hash(name, calls)) AS likeness FROM called GROUP BY capture, step
)
SELECT capture, min(step) AS step, list(step ORDER BY step) AS steps
FROM alike GROUP BY capture, likeness
QUALIFY row_number() OVER (PARTITION BY capture ORDER BY count(*) DESC, min(step)) = 1;
