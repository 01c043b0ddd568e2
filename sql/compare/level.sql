-- Levels over time of each side: of memory that of the component that both sides have (PTA, else the largest), of the run with the highest level;
-- of the clock that of the run with the lowest one.
-- Depends on c_capture, c_level.
-- Nothing without c_capture, c_level.
WITH main AS (
    SELECT component FROM c_level WHERE component IS NOT NULL GROUP BY component
    ORDER BY count(DISTINCT side) DESC, component <> 'PTA', max(value) DESC, component LIMIT 1
), kept AS (
    SELECT l.*, c.member FROM c_level AS l JOIN c_capture AS c USING (side, run, capture) WHERE l.what = 'clock' OR l.component IN (FROM main)
), drawn AS (
    SELECT side, what = 'clock' AS clock, arg_min(run, {'by': CASE WHEN what = 'clock' THEN value ELSE -value END, 'of': run}) AS run FROM kept GROUP BY ALL
)
SELECT k.side, k.what, k.component, k.run, k.member, list(k.at_ns ORDER BY k.at_ns, k.value) AS at_ns, list(k.value ORDER BY k.at_ns, k.value) AS amounts
FROM kept AS k JOIN drawn AS d ON d.side = k.side AND d.run = k.run AND d.clock = (k.what = 'clock')
GROUP BY k.side, k.what, k.component, k.run, k.member ORDER BY k.side, k.what;
