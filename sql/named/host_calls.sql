-- Calls on the host by layer and name over the whole run, most time first.
-- Depends on r_api.
SELECT layer, name, sum(calls) AS calls, sum(sum_ns) / 1e6 AS total_ms, sum(sum_ns) / 1e3 / sum(calls) AS mean_us, max(max_ns) / 1e3 AS max_us
FROM r_api GROUP BY ALL ORDER BY total_ms DESC, layer, name;
