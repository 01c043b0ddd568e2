-- Which machine's clock a capture has, and how far that is ahead of the others. Clocks are compared by the ends of collectives whose members are on
-- several machines. Collectives within one machine count for nothing here: its ranks have one clock.
-- A machine is known by its name. Where none is named, and ranks have devices of the same number, each rank counts as a machine, and so does a file
-- that does not say when its clock began (finding unknown_epoch). A node is a machine while captures last that began with one step, because clocks
-- drift.
-- `clock`: in each collective, the first node is compared with the others (`measured`, a median over collectives); from node to node the offsets add
-- up. All that meet, directly or not, get one `reference`. Times of captures with different references cannot be compared. capture.ahead_ns stays
-- NULL where no other machine was met. Captures that share no job have no row.
-- Depends on capture, finding, job_collective, job_step, shared_job.
-- Nothing without capture, job_step, shared_job.
-- Runs after capture_path, job, job_collective.
CREATE OR REPLACE TEMP TABLE clock AS
WITH RECURSIVE apart AS (
    SELECT p.job FROM job_collective AS p JOIN capture AS m ON m.capture = p.capture GROUP BY p.job
    HAVING count(m.host) > 0 OR count(p.device_id) = count(*) AND count(DISTINCT p.device_id) < count(DISTINCT p.rank)
), own AS (
    SELECT DISTINCT capture FROM finding WHERE key = 'unknown_epoch'
), begun AS (
    SELECT capture, rank, min({'step': step, 'job': job}) AS first FROM job_step
    WHERE capture IN (SELECT capture FROM job_step WHERE job IN (FROM shared_job)) GROUP BY ALL
), machine AS (
    SELECT b.capture, dense_rank() OVER (ORDER BY b.first, CASE WHEN o.capture IS NOT NULL THEN m.path END,
                                         coalesce(m.host, CASE WHEN a.job IS NOT NULL THEN 'rank ' || b.rank END)) AS node
    FROM begun AS b JOIN capture AS m ON m.capture = b.capture LEFT JOIN apart AS a ON a.job = b.first.job
    LEFT JOIN own AS o ON o.capture = b.capture
), met AS (
    SELECT p.job, p.step, p.meeting, p.ordinal, p.group_id, m.node, quantile_disc(p.end_ns, 0.5) AS end_ns
    FROM job_collective AS p JOIN machine AS m ON m.capture = p.capture GROUP BY ALL
), earliest AS (
    SELECT job, step, meeting, ordinal, group_id, min(node) AS node, arg_min(end_ns, node) AS end_ns FROM met GROUP BY ALL HAVING count(*) > 1
), measured AS (
    SELECT e.node AS from_node, m.node AS to_node, CAST(median(m.end_ns - e.end_ns) AS BIGINT) AS ahead_ns
    FROM met AS m JOIN earliest AS e
      ON e.job = m.job AND e.step IS NOT DISTINCT FROM m.step AND e.meeting = m.meeting AND e.ordinal = m.ordinal AND e.group_id = m.group_id
    WHERE m.node > e.node GROUP BY ALL
), edge AS (
    FROM measured UNION ALL SELECT to_node, from_node, -ahead_ns FROM measured
), walked(node, reference, ahead_ns) USING KEY (node) AS (   -- each node takes over the lowest reference of those that it meets
    SELECT DISTINCT node, node, CAST(0 AS BIGINT) FROM machine
    UNION
    SELECT e.to_node, min(w.reference), arg_min(w.ahead_ns + e.ahead_ns, {'reference': w.reference, 'node': w.node})
    FROM walked AS w JOIN edge AS e ON e.from_node = w.node JOIN recurring.walked AS k ON k.node = e.to_node
    WHERE w.reference < k.reference GROUP BY e.to_node
)
SELECT m.capture, w.reference, w.ahead_ns, m.node IN (SELECT from_node FROM edge) AS is_met, m.capture IN (FROM own) AS is_own
FROM machine AS m JOIN walked AS w ON w.node = m.node;

UPDATE capture SET ahead_ns = clock.ahead_ns FROM clock WHERE clock.capture = capture.capture AND clock.is_met;
