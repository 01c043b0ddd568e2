-- nn.Module calls of one run, summed over the selected steps.
-- Variables: run, side.
-- Depends on c_step, r_module.
-- Nothing without c_step, r_module.
CREATE TABLE IF NOT EXISTS c_module (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    name VARCHAR,
    calls BIGINT,
    host_ns BIGINT,
    device_ns BIGINT
);
INSERT INTO c_module
SELECT s.side, s.run, s.capture, r.name, sum(r.calls), sum(r.host_ns), sum(r.device_ns)
FROM store.r_module AS r
JOIN c_step AS s ON s.capture = r.capture AND s.step = r.step AND s.selected
 AND s.side = getvariable('side') AND s.run = getvariable('run')
GROUP BY ALL;
