-- The account of one run, summed over the selected steps, slowest device only. Of steps in which no device ran anything, that of the first
-- device. Kernels are named by their type, if known.
-- Variables: run, side.
-- Depends on c_time, is_head, known_as, own_or_others, r_account, r_time.
-- Nothing without c_time, r_account.
CREATE TABLE IF NOT EXISTS c_account (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    phase VARCHAR,
    kind VARCHAR NOT NULL,
    subject VARCHAR,          -- NULL: none
    op_type VARCHAR,          -- NULL: unknown, or no kernel
    host_op VARCHAR,          -- the framework operator that launched the kernel; NULL: unknown, or no kernel
    core_type VARCHAR,        -- NULL: unknown, or no kernel
    input_dtypes VARCHAR,     -- NULL: unknown, or no kernel
    pieces BIGINT NOT NULL,
    ns BIGINT NOT NULL
);
INSERT INTO c_account
WITH idle AS (   -- steps without a slowest device
    SELECT capture, step, min(device_id) AS device_id FROM store.r_account
    WHERE (capture, step) NOT IN (SELECT capture, step FROM store.r_time) GROUP BY capture, step
), named AS (
    SELECT * REPLACE (known_as(subject) AS subject, known_as(op_type) AS op_type, known_as(host_op) AS host_op),
           is_head(known_as(subject)) OR is_head(known_as(op_type)) AS head
    FROM store.r_account
)
SELECT t.side, t.run, t.capture, r.phase, r.kind, own_or_others(r.subject, r.head),
       own_or_others(r.op_type, r.head), r.host_op, r.core_type, r.input_dtypes, sum(r.pieces), sum(r.ns)
FROM named AS r
LEFT JOIN idle ON idle.capture = r.capture AND idle.step = r.step
JOIN c_time AS t ON t.capture = r.capture AND t.step = r.step AND t.side = getvariable('side') AND t.run = getvariable('run')
WHERE r.device_id IS NOT DISTINCT FROM CASE WHEN idle.step IS NULL THEN t.device_id ELSE idle.device_id END
GROUP BY ALL;
