-- Mean AI Core frequency per side, in MHz.
-- Depends on c_counter.
-- Nothing without c_counter.
SELECT side, avg(mean ORDER BY run, capture, device_id) AS mhz FROM c_counter WHERE name = 'aicore_freq_mhz' GROUP BY side ORDER BY side;
