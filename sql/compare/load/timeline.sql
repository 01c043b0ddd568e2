-- The stretches of r_timeline of one run: of each capture, a typical step and typical calls of its phases, on the device that c_time chose and in
-- selected steps.
-- Variables: run, side.
-- Depends on c_time, r_timeline.
-- Nothing without c_time, r_timeline.
CREATE TABLE IF NOT EXISTS c_timeline (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    device_id INTEGER,
    step BIGINT NOT NULL,
    steps BIGINT NOT NULL,
    phase VARCHAR,            -- NULL: the whole step
    calls BIGINT,             -- NULL: the whole step
    span_ns BIGINT NOT NULL,
    bucket_ns BIGINT NOT NULL
);
INSERT INTO c_timeline
SELECT t.side, t.run, t.capture, t.device_id, t.step, s.steps, s.phase, s.calls, s.until_ns - s.from_ns, s.bucket_ns
FROM store.r_timeline AS s
JOIN c_time AS t ON t.capture = s.capture AND t.step = s.step AND t.device_id IS NOT DISTINCT FROM s.device_id
 AND t.side = getvariable('side') AND t.run = getvariable('run');
