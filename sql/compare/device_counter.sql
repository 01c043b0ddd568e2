-- Section counters: sampled counters of each member's devices. Bandwidths are means and peaks; packets are counted since the device
-- started, so those of the capture are the last number without the first.
-- Depends on c_capture, c_counter.
-- Nothing without c_capture, c_counter.
WITH value AS (
    SELECT k.side, k.run, k.capture, k.device_id, c.member, k.name, CASE WHEN ends_with(k.name, '_packets') THEN k.max - k.min ELSE k.mean END AS value,
           CASE WHEN NOT ends_with(k.name, '_packets') THEN k.max END AS most
    FROM c_counter AS k JOIN c_capture AS c USING (side, run, capture)
)
SELECT name, member, avg(value ORDER BY run, capture, device_id) FILTER (WHERE side = 'baseline') AS baseline,
       avg(value ORDER BY run, capture, device_id) FILTER (WHERE side = 'new') AS new,
       max(most) FILTER (WHERE side = 'baseline') AS baseline_max, max(most) FILTER (WHERE side = 'new') AS new_max
FROM value WHERE value IS NOT NULL GROUP BY name, member ORDER BY name, member;
