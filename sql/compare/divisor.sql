-- The number that the sum of a capture is divided by. With it, the sum over all captures of a side is the value of that side
-- (docs/design.md §4): the mean over runs of the sum over groups of the mean over members of the mean over steps. A member counts only in
-- the domains that it measured: a rank whose profile has no kernels does not count for kernels. Within a domain, a missing row counts 0.
-- Depends on c_account, c_allocation, c_api, c_capture, c_copy, c_kernel, c_link, c_module, c_msprof, c_operator,
-- c_phase, c_stack, c_step, c_task, c_time.
-- Nothing without c_capture.
CREATE TABLE c_divisor AS
WITH present AS (   -- a capture has a domain if the table of the domain has its rows; kernels: only without device times
    SELECT side, run, capture, 'kernel' AS domain, bool_or(whole) AS whole FROM c_kernel
    WHERE (side, run, capture) NOT IN (SELECT side, run, capture FROM c_time WHERE compute_ns IS NOT NULL) GROUP BY ALL
    UNION ALL SELECT side, run, capture, 'operator', bool_or(whole) FROM c_operator GROUP BY ALL
    UNION ALL SELECT side, run, capture, 'api ' || layer, bool_or(whole) FROM c_api GROUP BY ALL
    UNION ALL SELECT side, run, capture, 'link', bool_or(whole) FROM c_link GROUP BY ALL
    UNION ALL SELECT DISTINCT side, run, capture, 'stack', TRUE FROM c_stack
    UNION ALL SELECT DISTINCT side, run, capture, 'module', FALSE FROM c_module
    UNION ALL SELECT DISTINCT side, run, capture, 'task', FALSE FROM c_task
    UNION ALL SELECT DISTINCT side, run, capture, 'phase', FALSE FROM c_phase
    UNION ALL SELECT DISTINCT side, run, capture, 'account', FALSE FROM c_account
    UNION ALL SELECT DISTINCT side, run, capture, 'wall', FALSE FROM c_phase WHERE wall_ns IS NOT NULL
    UNION ALL SELECT side, run, capture, 'allocation', bool_or(whole) FROM c_allocation GROUP BY ALL
), measured AS (
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
    UNION ALL
    SELECT m.side, m.run, m.role, m.folder, m.member, p.domain, count(DISTINCT s.step) FILTER (WHERE s.selected OR p.whole)
    FROM (SELECT c.side, c.run, c.role, c.folder, c.member, p.domain, bool_or(p.whole) AS whole
          FROM present AS p JOIN c_capture AS c USING (side, run, capture) GROUP BY ALL) AS p
    JOIN c_capture AS m USING (side, run, role, folder, member)
    JOIN c_step AS s USING (side, run, capture)
    GROUP BY ALL
    UNION ALL   -- totals of captures, not of steps
    SELECT DISTINCT c.side, c.run, c.role, c.folder, c.member, 'msprof', 1 FROM c_msprof JOIN c_capture AS c USING (side, run, capture)
), sized AS (
    SELECT *, count(*) OVER (PARTITION BY side, run, role, folder, domain) AS members
    FROM (SELECT side, run, role, folder, member, domain, max(steps) AS steps FROM measured WHERE steps > 0 GROUP BY ALL)
), replicated AS (
    SELECT side, domain, count(DISTINCT run) AS runs FROM sized GROUP BY side, domain
)
SELECT c.side, c.run, c.capture, s.domain, CAST(s.steps * s.members * r.runs AS BIGINT) AS divisor, s.steps, r.runs
FROM sized AS s
JOIN replicated AS r USING (side, domain)
JOIN c_capture AS c USING (side, run, role, folder, member);
