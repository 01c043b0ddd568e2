-- Levels over time of one run: memory of the fullest device of each component, the clock of the device with the lowest mean. Times count from the
-- start of the first step, else from the first sample. Levels more than a week from it are of another clock, or damaged: there is no place for them.
-- Variables: run, side.
-- Depends on c_capture, r_counter, r_level, r_memory, step.
-- Nothing without c_capture, r_level.
CREATE TABLE IF NOT EXISTS c_level (
    side VARCHAR NOT NULL,
    run INTEGER NOT NULL,
    capture INTEGER NOT NULL,
    what VARCHAR NOT NULL,    -- as in r_level
    component VARCHAR,
    at_ns BIGINT NOT NULL,    -- since the start
    value DOUBLE NOT NULL
);
INSERT INTO c_level
WITH own AS (
    SELECT capture FROM c_capture WHERE side = getvariable('side') AND run = getvariable('run')
), fullest AS (
    SELECT capture, device_id, component FROM store.r_memory WHERE capture IN (FROM own)
    QUALIFY row_number() OVER (
        PARTITION BY component ORDER BY coalesce(peak_allocated_bytes, peak_reserved_bytes) DESC NULLS LAST, capture, device_id) = 1
), slowest AS (
    SELECT capture, device_id FROM store.r_counter WHERE name = 'aicore_freq_mhz' AND capture IN (FROM own) ORDER BY mean, capture, device_id LIMIT 1
), chosen AS (
    SELECT l.* FROM store.r_level AS l JOIN fullest AS f
      ON f.capture = l.capture AND f.device_id IS NOT DISTINCT FROM l.device_id AND f.component = l.component
    UNION ALL
    SELECT l.* FROM store.r_level AS l JOIN slowest AS s ON s.capture = l.capture AND s.device_id IS NOT DISTINCT FROM l.device_id
    WHERE l.what = 'clock'
), origin AS (
    SELECT c.capture, coalesce((SELECT min(s.start_ns) FROM store.step AS s WHERE s.capture = c.capture), min(c.ts_ns)) AS start_ns
    FROM chosen AS c GROUP BY c.capture
)
SELECT getvariable('side'), getvariable('run'), c.capture, c.what, c.component, c.ts_ns - o.start_ns, c.value
FROM chosen AS c JOIN origin AS o USING (capture) WHERE isfinite(c.value) AND abs(c.ts_ns - o.start_ns) <= 604800000000000;
