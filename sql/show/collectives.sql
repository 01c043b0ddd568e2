-- Collectives by kind and group, per member of a role and step.
-- Depends on r_collective, shown_device, shown_divisor.
SELECT c.kind, c.group_key AS group_ranks, sum(1 / comm_times ORDER BY 1 / comm_times) AS calls,
       sum((c.end_ns - c.start_ns) / 1e6 / comm_times ORDER BY (c.end_ns - c.start_ns) / 1e6 / comm_times) AS total_ms,
       sum(c.exposed_ns / 1e6 / comm_times ORDER BY c.exposed_ns / 1e6 / comm_times) AS exposed_ms,
       sum(c.wait_ns / 1e6 / comm_times ORDER BY c.wait_ns / 1e6 / comm_times) AS wait_ms,
       sum(c.transit_ns / 1e6 / comm_times ORDER BY c.transit_ns / 1e6 / comm_times) AS transit_ms,
       CAST(round(sum(c.size_bytes / comm_times ORDER BY c.size_bytes / comm_times)) AS BIGINT) AS size_bytes
FROM r_collective AS c
JOIN shown_device AS d ON d.capture = c.capture AND d.step = c.step AND d.device_id IS NOT DISTINCT FROM c.device_id
JOIN shown_divisor AS v ON v.capture = c.capture
GROUP BY ALL ORDER BY total_ms DESC, kind, group_ranks LIMIT 20;
