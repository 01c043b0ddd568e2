-- Kernels of one run, summed over the selected steps, slowest device only. If a capture has no kernels but the profiler's own totals, these
-- are used.
-- Variables: run, side.
-- Depends on c_capture, c_time, r_kernel.
CREATE TABLE IF NOT EXISTS c_kernel (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    whole BOOLEAN NOT NULL,   -- TRUE: a sum over all steps of the capture
    phase VARCHAR,
    name VARCHAR,             -- without running numbers
    op_type VARCHAR,          -- NULL at Level0
    core_type VARCHAR,
    category VARCHAR NOT NULL,
    input_shapes VARCHAR,
    input_dtypes VARCHAR,
    host_op VARCHAR,
    calls BIGINT NOT NULL,
    sum_ns BIGINT,
    max_ns BIGINT,
    gap_ns BIGINT,            -- free time of the device right before; NULL if only totals are known
    elements HUGEINT          -- input elements over all calls; whole numbers, so that sums do not depend on their order
);
INSERT INTO c_kernel
WITH stepless AS (
    SELECT capture FROM store.r_kernel GROUP BY capture HAVING count(step) = 0 AND count(busy_ns) = 0
), counted AS (
    SELECT t.side, t.run, FALSE AS whole, k.*
    FROM store.r_kernel AS k
    JOIN c_time AS t ON t.capture = k.capture AND t.step = k.step
     AND (t.device_id IS NOT DISTINCT FROM k.device_id OR t.compute_ns IS NULL)
     AND t.side = getvariable('side') AND t.run = getvariable('run')
    UNION ALL
    SELECT c.side, c.run, TRUE, k.*
    FROM store.r_kernel AS k
    JOIN c_capture AS c ON c.capture = k.capture AND c.side = getvariable('side') AND c.run = getvariable('run')
    WHERE k.capture IN (FROM stepless)
)
SELECT side, run, capture, whole, phase, name, op_type, core_type, category, input_shapes, input_dtypes, host_op,
       sum(calls), sum(sum_ns), max(max_ns), sum(gap_ns), sum(TRY_CAST(elements AS HUGEINT))
FROM counted GROUP BY ALL;
