-- Collectives with their step, phase and exposed time. `ordinal` counts collectives of the same kind and group within a step.
-- Depends on collective_kind, coverage, exposed, placed, stage_collective.
-- Nothing without placed, stage_collective.
-- Runs after too_long.
INSERT INTO collective
SELECT c.id, c.capture, c.device_id, p.step, p.phase, c.name, collective_kind(c.op_type, c.name), c.group_name, c.group_ranks,
       row_number() OVER (PARTITION BY c.capture, p.step, c.device_id, collective_kind(c.op_type, c.name), c.group_name ORDER BY c.start_ns, c.id) - 1,
       c.start_ns, c.end_ns, c.wait_ns, c.transit_ns, c.size_bytes, c.dtype, c.algorithm, v.busy_ns, CASE WHEN c.capture IN (SELECT capture FROM placed WHERE what = 'kernel' AND end_ns IS NOT NULL) THEN coalesce(e.exposed_ns, 0) END, v.gap_ns
FROM stage_collective AS c
JOIN (FROM placed WHERE what = 'collective') AS p USING (capture, id)
LEFT JOIN (FROM coverage WHERE what = 'collective') AS v USING (capture, id)
LEFT JOIN (FROM exposed WHERE what = 'collective') AS e USING (capture, id);
