-- Collectives of one run, one by one, in the selected steps, slowest device only. `group_digits`: those of the group's hash, from the operator's
-- name ("hcom_allReduce__210_0_1").
-- Variables: run, side.
-- Depends on c_time, r_collective.
-- Nothing without c_time, r_collective.
CREATE TABLE IF NOT EXISTS c_collective (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    step BIGINT NOT NULL,
    kind VARCHAR NOT NULL,
    group_key VARCHAR NOT NULL,
    group_name VARCHAR,
    group_digits VARCHAR,
    ordinal INTEGER NOT NULL,
    start_ns BIGINT,
    end_ns BIGINT,
    wait_ns BIGINT,
    transit_ns BIGINT,
    size_bytes BIGINT,
    exposed_ns BIGINT
);
INSERT INTO c_collective
SELECT t.side, t.run, t.capture, t.step, r.kind, r.group_key, r.group_name,
       nullif(regexp_extract(r.name, '__([0-9]{3})_', 1), ''), r.ordinal, r.start_ns, r.end_ns, r.wait_ns, r.transit_ns, r.size_bytes, r.exposed_ns
FROM store.r_collective AS r
JOIN c_time AS t ON t.capture = r.capture AND t.step = r.step AND t.device_id IS NOT DISTINCT FROM r.device_id
 AND t.side = getvariable('side') AND t.run = getvariable('run');
