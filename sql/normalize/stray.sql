-- Removes what is farther from the middle of a capture than a profile may last, on the device and on the host. Marks of steps lose their times.
-- Gives the number of these tasks, operators, ranges and steps, and whether many of the kernels or collectives are among them.
-- Variables: far_apart.
-- Depends on device_window, longest_profile_ns, stage_collective, stage_copy, stage_host_op, stage_kernel, stage_phase,
-- stage_step.
-- Run by name: for captures that far_apart gives (the variable).
CREATE OR REPLACE TEMP TABLE middle AS
SELECT capture, quantile_disc(start_ns, 0.5) FILTER (is_host) AS host_ns, quantile_disc(start_ns, 0.5) FILTER (NOT is_host) AS device_ns
FROM (
    SELECT capture, TRUE AS is_host, start_ns FROM stage_host_op UNION ALL SELECT capture, TRUE, start_ns FROM stage_phase
    UNION ALL SELECT capture, TRUE, start_ns FROM stage_step
    UNION ALL SELECT capture, FALSE, start_ns FROM stage_kernel UNION ALL SELECT capture, FALSE, start_ns FROM stage_collective
    UNION ALL SELECT capture, FALSE, start_ns FROM stage_copy
) WHERE list_contains(getvariable('far_apart'), capture) AND start_ns IS NOT NULL GROUP BY capture;
CREATE OR REPLACE TEMP TABLE stray AS
SELECT 'kernel' AS what, t.rowid AS number, capture FROM stage_kernel AS t JOIN middle USING (capture) WHERE abs(start_ns - device_ns) > longest_profile_ns()
UNION ALL SELECT 'collective', t.rowid, capture FROM stage_collective AS t JOIN middle USING (capture) WHERE abs(start_ns - device_ns) > longest_profile_ns()
UNION ALL SELECT 'copy', t.rowid, capture FROM stage_copy AS t JOIN middle USING (capture) WHERE abs(start_ns - device_ns) > longest_profile_ns()
UNION ALL SELECT 'host_op', t.rowid, capture FROM stage_host_op AS t JOIN middle USING (capture) WHERE abs(start_ns - host_ns) > longest_profile_ns()
UNION ALL SELECT 'phase', t.rowid, capture FROM stage_phase AS t JOIN middle USING (capture) WHERE abs(start_ns - host_ns) > longest_profile_ns()
UNION ALL SELECT 'step', t.rowid, capture FROM stage_step AS t JOIN middle USING (capture) WHERE abs(start_ns - host_ns) > longest_profile_ns();
DELETE FROM stage_kernel WHERE rowid IN (SELECT number FROM stray WHERE what = 'kernel');
DELETE FROM stage_collective WHERE rowid IN (SELECT number FROM stray WHERE what = 'collective');
DELETE FROM stage_copy WHERE rowid IN (SELECT number FROM stray WHERE what = 'copy');
DELETE FROM stage_host_op WHERE rowid IN (SELECT number FROM stray WHERE what = 'host_op');
DELETE FROM stage_phase WHERE rowid IN (SELECT number FROM stray WHERE what = 'phase');
UPDATE stage_step SET start_ns = NULL, end_ns = NULL WHERE rowid IN (SELECT number FROM stray WHERE what = 'step');
UPDATE device_window SET first_ns = NULL, last_ns = NULL FROM middle
WHERE device_window.capture = middle.capture AND last_ns - first_ns > longest_profile_ns();
SELECT capture, count(*), count_if(what IN ('kernel', 'collective')) * 200 > (
    SELECT count(*) FROM (SELECT capture FROM stage_kernel UNION ALL SELECT capture FROM stage_collective) AS kept WHERE kept.capture = stray.capture
) FROM stray GROUP BY capture ORDER BY capture;
