-- Step, phase and device time of each framework operator. The lookups carry narrow rows only, for speed. The start of the operator decides
-- its step and phase. If steps were chosen, operators outside them are left out. The device time launched inside an operator, at any depth,
-- is a difference of a running sum over the launching operators of its thread: the value at its end minus the value at its start.
-- Variables: steps.
-- Depends on place, stage_host_op, stage_kernel.
-- Nothing without stage_host_op.
-- Runs after too_long.
CREATE OR REPLACE TEMP TABLE host_op_place AS
WITH running AS (
    SELECT o.capture, o.thread, o.start_ns AS launch_ns,
           CAST(sum(sum(k.end_ns - k.start_ns)) OVER (PARTITION BY o.capture, o.thread ORDER BY o.start_ns) AS BIGINT) AS upto_ns
    FROM stage_kernel AS k JOIN stage_host_op AS o ON o.capture = k.capture AND o.id = k.host_op_id
    GROUP BY o.capture, o.thread, o.start_ns
), before AS (
    SELECT o.capture, o.id, o.thread, o.start_ns, o.end_ns, coalesce(r.upto_ns, 0) AS before_ns
    FROM (SELECT capture, id, thread, start_ns, end_ns FROM stage_host_op) AS o
    ASOF LEFT JOIN running AS r ON r.capture = o.capture AND r.thread = o.thread AND o.start_ns > r.launch_ns
), device AS (
    SELECT b.capture, b.id, b.start_ns, coalesce(r.upto_ns, 0) - b.before_ns AS device_ns
    FROM before AS b ASOF LEFT JOIN running AS r ON r.capture = b.capture AND r.thread = b.thread AND b.end_ns > r.launch_ns
)
SELECT o.capture, o.id, p.step, p.phase, o.device_ns
FROM device AS o ASOF LEFT JOIN place AS p ON p.capture = o.capture AND o.start_ns >= p.from_ns
WHERE getvariable('steps') IS NULL OR p.step IS NOT NULL;
