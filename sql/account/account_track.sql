-- The timelines that the account divides: one for each device of a capture, or the host if there is no device. Steps without marks may overlap,
-- so each has its own track; `step` is NULL where steps are marked.
-- Depends on capture, placed, step.
-- Nothing without capture + placed, placed + step.
CREATE OR REPLACE TEMP TABLE account_track AS
WITH marked AS (
    SELECT DISTINCT capture FROM step WHERE start_ns IS NOT NULL
)
SELECT row_number() OVER (ORDER BY capture, device_id, step) AS track, *
FROM (
    SELECT DISTINCT capture, device_id, CASE WHEN capture NOT IN (FROM marked) THEN step END AS step FROM placed
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL AND (step IS NOT NULL OR capture IN (FROM marked))
    UNION
    SELECT capture, NULL, NULL FROM capture WHERE executor = 'host' AND capture IN (FROM marked)
);
