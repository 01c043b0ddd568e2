-- Mean AI Core frequency per side, in MHz; not of a side whose devices differ: it would be that of none of them.
-- Depends on c_capture, c_counter.
-- Nothing without c_capture, c_counter.
WITH clock AS (
    SELECT side, run, capture, member, device_id, mean FROM c_counter JOIN c_capture USING (side, run, capture) WHERE name = 'aicore_freq_mhz'
), device AS (
    SELECT side, avg(mean ORDER BY run, capture) AS mean FROM clock GROUP BY side, member, device_id
)
SELECT side, avg(mean ORDER BY run, capture, device_id) AS mhz FROM clock
WHERE side IN (SELECT side FROM device GROUP BY side HAVING max(mean) <= 1.05 * min(mean))
GROUP BY side ORDER BY side;
