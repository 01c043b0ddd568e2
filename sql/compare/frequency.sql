-- Mean AI Core frequency per side, in MHz; not of a side whose devices differ: it would be that of none of them.
-- Depends on c_counter.
-- Nothing without c_counter.
SELECT side, avg(mean ORDER BY run, capture, device_id) AS mhz FROM c_counter WHERE name = 'aicore_freq_mhz' GROUP BY side
HAVING max(mean) <= 1.05 * min(mean) ORDER BY side;
