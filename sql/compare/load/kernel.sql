-- Kernels of one run, summed over the selected steps, slowest device only. If a capture has no kernels but the profiler's own totals, these
-- are used.
-- Variables: run, side.
-- Depends on c_capture, c_peak, c_time, is_head, known_as, own_or_others, r_kernel, sum_if_known.
-- Nothing without r_kernel.
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
    input_formats VARCHAR,
    calls BIGINT NOT NULL,
    sum_ns BIGINT,
    max_ns BIGINT,
    busy_ns BIGINT,           -- the part of sum_ns that no kernel before it hides; NULL if only totals are known
    gap_ns BIGINT,            -- free time of the device right before; likewise
    elements HUGEINT,         -- input elements over all calls; whole numbers, so that sums do not depend on their order
    work VARCHAR,             -- what flop and bytes count; NULL: unknown
    at_most BOOLEAN,          -- TRUE: flop is an upper limit
    flop HUGEINT,             -- floating-point operations over all calls
    bytes HUGEINT,            -- bytes of inputs and outputs over all calls
    possible_flop HUGEINT,    -- what the chip can compute at most in the time of the kernels; NULL: unknown
    block_num BIGINT,         -- most blocks that one of them ran on; NULL: unknown
    counted_ns BIGINT,        -- r_kernel: time of those whose AI Core counters are known, and the parts of it
    cube_ns BIGINT,
    load_ns BIGINT,
    l2_counted_ns BIGINT,
    l2_hit_ns BIGINT,
    odd_calls BIGINT,         -- calls that take five times as long as the others of their kind in the step, and 0.3 ms longer: one a kind at most
    odd_ns DOUBLE             -- by how much longer
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
), odd AS (
    SELECT *, (sum_ns - max_ns) / nullif(calls - 1, 0) AS others_ns, coalesce(max_ns >= 5 * others_ns AND max_ns - others_ns >= 300000, FALSE) AS is_odd FROM counted
), named AS (
    SELECT * REPLACE (known_as(name) AS name, known_as(op_type) AS op_type, known_as(host_op) AS host_op),
           is_head(known_as(name)) OR is_head(known_as(op_type)) AS head
    FROM odd
)
SELECT k.side, k.run, k.capture, k.whole, k.phase,
       own_or_others(k.name, k.head), own_or_others(k.op_type, k.head),
       k.core_type, k.category, CASE WHEN k.head THEN k.input_shapes END, CASE WHEN k.head THEN k.input_dtypes END, k.host_op,
       CASE WHEN k.head THEN k.input_formats END,
       sum(k.calls), sum(k.sum_ns), max(k.max_ns), sum(k.busy_ns), sum(k.gap_ns), sum(TRY_CAST(k.elements AS HUGEINT)), k.work, k.at_most,
       sum_if_known(TRY_CAST(k.flop AS HUGEINT)), sum_if_known(TRY_CAST(k.bytes AS HUGEINT)),
       sum_if_known(TRY_CAST(k.sum_ns * CASE k.precision WHEN 'half' THEN p.half_flop_per_ns WHEN 'int8' THEN p.int8_flop_per_ns END AS HUGEINT)),
       max(k.block_num), sum(k.counted_ns), sum(k.cube_ns), sum(k.load_ns), sum(k.l2_counted_ns), sum(k.l2_hit_ns),
       count(*) FILTER (k.is_odd), coalesce(sum(k.max_ns - k.others_ns) FILTER (k.is_odd), 0)
FROM named AS k LEFT JOIN c_peak AS p ON p.side = k.side AND p.run = k.run AND p.capture = k.capture
GROUP BY ALL;
