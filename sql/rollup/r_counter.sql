-- Sampled counters, reduced. A frequency holds until its next sample, so its mean is weighted by that time.
-- Depends on counter.
-- Nothing without counter.
INSERT INTO r_counter
WITH held AS (
    SELECT *, lead(ts_ns) OVER (PARTITION BY capture, device_id, name ORDER BY ts_ns) - ts_ns AS held_ns FROM counter WHERE value IS NOT NULL
)
SELECT capture, device_id, name, count(*),
       CASE WHEN name = 'aicore_freq_mhz' AND sum(held_ns) > 0 THEN sum(value * held_ns) / sum(held_ns) ELSE avg(value) END, min(value), max(value)
FROM held GROUP BY capture, device_id, name;
