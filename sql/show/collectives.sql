-- Collectives by kind and group, per rank and step. Depends on r_collective, shown_device, shown_step.
WITH divisor AS (SELECT CAST(count(*) AS DOUBLE) AS times FROM shown_step)
SELECT c.kind, c.group_key AS group_ranks, count(*) / any_value(times) AS calls,
       sum(c.end_ns - c.start_ns) / 1e6 / any_value(times) AS total_ms, sum(c.exposed_ns) / 1e6 / any_value(times) AS exposed_ms,
       sum(c.wait_ns) / 1e6 / any_value(times) AS wait_ms, sum(c.transit_ns) / 1e6 / any_value(times) AS transit_ms,
       sum(c.size_bytes) / any_value(times) / 1e6 AS size_mb
FROM r_collective AS c
JOIN shown_device AS d ON d.capture = c.capture AND d.step = c.step AND d.device_id IS NOT DISTINCT FROM c.device_id
CROSS JOIN divisor
GROUP BY ALL ORDER BY total_ms DESC, kind, group_ranks LIMIT 20;
