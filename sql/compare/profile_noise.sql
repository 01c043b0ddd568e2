-- How far the mean of each time of the profiled steps may be off by luck in one run, as these steps show (noise_of). Steps are paired as in
-- c_position. A step counts for a time if all members measured it. A phase that is absent in a step counts 0. The critical path is known if all roles
-- have one. Unknown where a run has one step.
-- Depends on c_account, c_capture, c_divisor, c_path, c_phase, c_position, c_step_time, noise_of, sum_of_groups.
-- Nothing without c_position.
WITH timed AS (
    SELECT side, run, role, folder, metric, step, sum(ns) / count(*) AS ns, count(*) AS members FROM c_step_time GROUP BY ALL
), whole AS (
    SELECT side, run, 'time.' || metric AS name, step, sum_of_groups(ns, role, folder) AS ns FROM timed GROUP BY side, run, metric, step
    QUALIFY sum(members) = max(sum(members)) OVER (PARTITION BY side, run, metric)
), pathed AS (
    SELECT p.side, p.run, c.role, c.folder, p.step, sum(p.ns) / count(DISTINCT coalesce(c.replica, -1)) AS ns
    FROM c_path AS p JOIN c_capture AS c USING (side, run, capture) GROUP BY ALL
), partly AS (
    SELECT DISTINCT side, run FROM c_account JOIN c_capture AS c USING (side, run, capture)
    WHERE (side, run, c.role, c.folder) NOT IN (SELECT (side, run, role, folder) FROM pathed)
), of_phase AS (
    UNPIVOT c_phase ON wall_ns, compute_ns, exposed_comm_ns, free_ns INTO NAME what VALUE ns
), phased AS (
    SELECT side, run, 'phase.' || phase || '.' || replace(what, '_ns', '') AS name, step, sum(ns * d.runs * d.steps / d.divisor ORDER BY capture) AS ns
    FROM of_phase AS p JOIN c_divisor AS d USING (side, run, capture)
    WHERE d.domain = CASE WHEN p.what = 'wall_ns' THEN 'wall' ELSE 'phase_device' END GROUP BY ALL
), of_step AS (
    FROM whole
    UNION ALL SELECT side, run, 'time.path', step, sum_of_groups(ns, role, folder) FROM pathed ANTI JOIN partly USING (side, run) GROUP BY side, run, step
    UNION ALL SELECT n.side, n.run, n.name, s.step, coalesce(p.ns, 0)
    FROM (SELECT DISTINCT side, run, name FROM phased) AS n JOIN (SELECT DISTINCT side, run, step FROM phased) AS s USING (side, run)
    LEFT JOIN phased AS p USING (side, run, name, step)
), placed AS (
    SELECT o.side, o.run, o.name, p.position AS step, o.ns AS value FROM of_step AS o JOIN c_position AS p USING (side, run, step)
)
SELECT name, alone, alone_freedom, paired, paired_freedom FROM noise_of('placed', 2) ORDER BY name;
