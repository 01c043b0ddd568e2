-- The steps that each member measured, by domain.
-- Depends on c_capture, c_copy, c_msprof, c_phase, c_time.
-- Nothing without c_capture.
CREATE TABLE c_domain_steps AS
SELECT c.side, c.run, c.role, c.folder, c.member, unnest(['compute', 'kernel']) AS domain, count(DISTINCT t.step) AS steps
FROM c_time AS t JOIN c_capture AS c USING (side, run, capture) WHERE t.compute_ns IS NOT NULL
GROUP BY c.side, c.run, c.role, c.folder, c.member
UNION ALL
SELECT c.side, c.run, c.role, c.folder, c.member, 'device', count(DISTINCT t.step)
FROM c_time AS t JOIN c_capture AS c USING (side, run, capture) WHERE t.comm_ns IS NOT NULL GROUP BY ALL
UNION ALL
SELECT c.side, c.run, c.role, c.folder, c.member, 'copy', count(DISTINCT t.step)
FROM c_time AS t JOIN c_capture AS c USING (side, run, capture) WHERE t.exposed_copy_ns IS NOT NULL OR (t.side, t.run, t.capture) IN (SELECT (side, run, capture) FROM c_copy) GROUP BY ALL
UNION ALL   -- of members with phases
SELECT c.side, c.run, c.role, c.folder, c.member, 'phase_device', count(DISTINCT t.step)
FROM c_time AS t JOIN c_capture AS c USING (side, run, capture)
SEMI JOIN (SELECT c.* FROM c_phase AS p JOIN c_capture AS c USING (side, run, capture) WHERE p.compute_ns IS NOT NULL) AS p
  USING (side, run, role, folder, member)
WHERE t.compute_ns IS NOT NULL GROUP BY ALL
UNION ALL
SELECT c.side, c.run, c.role, c.folder, c.member, 'step', count(DISTINCT t.step)
FROM c_time AS t JOIN c_capture AS c USING (side, run, capture) WHERE t.step_ns IS NOT NULL GROUP BY ALL
UNION ALL   -- totals of captures, not of steps
SELECT DISTINCT c.side, c.run, c.role, c.folder, c.member, 'msprof', 1 FROM c_msprof JOIN c_capture AS c USING (side, run, capture);
