-- Deletes memory levels, allocations and samples of counters from outside the chosen steps: from before the first, from after the last, and from the
-- other steps in between. Gives the captures of which it cannot, as no chosen step has a mark.
-- Variables: steps.
-- Depends on allocation, counter, memory, stage_step.
-- Run by name: if the user chose steps.
CREATE OR REPLACE TEMP TABLE not_chosen AS
WITH marked AS (
    SELECT capture, start_ns, end_ns, list_contains(getvariable('steps'), step) AS is_chosen FROM stage_step WHERE end_ns > start_ns
), chosen AS (
    SELECT capture, min(start_ns) AS from_ns, max(end_ns) AS until_ns FROM marked WHERE is_chosen GROUP BY capture
)
SELECT capture, CAST(NULL AS BIGINT) AS from_ns, from_ns AS until_ns FROM chosen
UNION ALL
SELECT capture, until_ns, NULL FROM chosen
UNION ALL
SELECT m.capture, m.start_ns, m.end_ns
FROM marked AS m JOIN chosen AS c ON c.capture = m.capture AND m.start_ns > c.from_ns AND m.end_ns < c.until_ns
WHERE NOT m.is_chosen
  AND NOT EXISTS (FROM marked AS o WHERE o.capture = m.capture AND o.is_chosen AND o.start_ns < m.end_ns AND o.end_ns > m.start_ns);
DELETE FROM memory USING not_chosen AS n
WHERE n.capture = memory.capture AND (n.from_ns IS NULL OR ts_ns > n.from_ns) AND (n.until_ns IS NULL OR ts_ns < n.until_ns);
DELETE FROM allocation USING not_chosen AS n
WHERE n.capture = allocation.capture AND (n.from_ns IS NULL OR alloc_ns > n.from_ns) AND (n.until_ns IS NULL OR alloc_ns < n.until_ns);
DELETE FROM counter USING not_chosen AS n
WHERE n.capture = counter.capture AND (n.from_ns IS NULL OR ts_ns > n.from_ns) AND (n.until_ns IS NULL OR ts_ns < n.until_ns);
SELECT DISTINCT capture FROM (
    SELECT capture, ts_ns FROM memory UNION ALL SELECT capture, alloc_ns FROM allocation UNION ALL SELECT capture, ts_ns FROM counter
) WHERE ts_ns IS NOT NULL AND capture NOT IN (SELECT capture FROM not_chosen) AND capture IN (SELECT capture FROM stage_step GROUP BY capture HAVING count(DISTINCT step) > 1)
ORDER BY capture;
