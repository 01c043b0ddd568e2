-- The account by member and phase of each side, in ns: the mean over steps, then over runs. One row per side and kind of time: the values of the
-- first member by phase, then those of the second, and so on. The values of a member sum to its step, as the section ranks has it.
--   compute   the device runs a kernel
--   transfer  it only runs a collective that all members have started
--   wait      it only runs a collective that another member has not started
--   comm      it only runs a collective, and whether it waits is not known
--   idle      it runs none of them: copies, launches, and what the host does
--   unknown   compute or idle, of a member whose kernels were not recorded: it has NULL for these two
-- Depends on c_account, c_capture, c_divisor.
-- Nothing without c_account, c_capture, c_divisor.
WITH phased AS (   -- this and the next as in named_of
    SELECT count(DISTINCT side) > 1 AS on_both FROM c_account WHERE phase IS NOT NULL
), divided AS (
    SELECT count(DISTINCT side) > 1 AS on_both FROM c_account WHERE kind IN ('wait', 'transfer')
), stepped AS (   -- captures of one member are summed
    SELECT a.side, a.run, c.role, c.folder, c.member, d.steps, sum(a.ns) AS ns,
           CASE WHEN a.kind IN ('wait', 'transfer') AND NOT (SELECT on_both FROM divided) THEN 'comm'
                WHEN a.kind IN ('transfer', 'wait', 'comm') THEN a.kind WHEN k.capture IS NULL THEN 'unknown'
                WHEN a.kind = 'compute' THEN a.kind ELSE 'idle' END AS what,
           CASE WHEN a.phase IS NOT NULL AND (SELECT on_both FROM phased) THEN a.phase ELSE '(outside)' END AS phase
    FROM c_account AS a JOIN c_divisor AS d USING (side, run, capture) JOIN c_capture AS c USING (side, run, capture)
    LEFT JOIN (FROM c_divisor WHERE domain = 'compute') AS k ON (k.side, k.run, k.capture) = (a.side, a.run, a.capture)
    WHERE d.domain = 'account'
    GROUP BY ALL
), per_run AS (
    SELECT side, run, member, what, phase, sum(ns / steps ORDER BY role, folder) AS ns FROM stepped GROUP BY ALL
), members AS (
    SELECT side, member, count(DISTINCT run) AS runs, bool_or(what = 'unknown') AS partial FROM per_run GROUP BY ALL
), columns AS (
    SELECT what, phase FROM (SELECT DISTINCT what FROM per_run) CROSS JOIN (SELECT DISTINCT phase FROM per_run)
), cell AS (
    SELECT m.side, w.what, m.member, w.phase,
           CASE WHEN NOT (any_value(m.partial) AND w.what IN ('compute', 'idle')) THEN coalesce(sum(v.ns ORDER BY v.run), 0) / any_value(m.runs) END AS ns
    FROM members AS m CROSS JOIN columns AS w
    LEFT JOIN per_run AS v ON v.side = m.side AND v.what = w.what AND v.member = m.member AND v.phase = w.phase
    GROUP BY m.side, w.what, m.member, w.phase
)
SELECT side, what, list(DISTINCT phase ORDER BY phase) AS phases, list(DISTINCT member ORDER BY member) AS members,
       list(ns ORDER BY member, phase) AS amounts
FROM cell GROUP BY side, what ORDER BY side, what;
