-- Section links: transfers by pair of ranks, group and transport. Bytes per nanosecond are GB/s. As with collectives, groups are dropped from
-- the key where the sides share none. Depends on c_link, c_divisor.
WITH shared AS (
    SELECT group_key FROM c_link GROUP BY group_key HAVING count(DISTINCT side) = 2
), exact AS (
    SELECT src_rank, dst_rank, transport, CASE WHEN EXISTS (FROM shared) THEN group_key END AS group_key, side, divisor,
           sum(size_bytes) AS bytes, sum(transit_ns) AS ns
    FROM c_link JOIN c_divisor USING (side, run, capture) WHERE domain = 'link' GROUP BY ALL
)
SELECT coalesce(CAST(src_rank AS VARCHAR), '?') || '→' || coalesce(CAST(dst_rank AS VARCHAR), '?') AS name, transport, group_key, bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(ns, divisor, side = 'baseline') AS baseline_ns, side_mean(ns, divisor, side = 'new') AS new_ns,
       side_mean(bytes, divisor, side = 'baseline') AS baseline_bytes, side_mean(bytes, divisor, side = 'new') AS new_bytes,
       side_mean(bytes, divisor, side = 'baseline') / nullif(side_mean(ns, divisor, side = 'baseline'), 0) AS baseline_gb_per_s,
       side_mean(bytes, divisor, side = 'new') / nullif(side_mean(ns, divisor, side = 'new'), 0) AS new_gb_per_s
FROM exact GROUP BY src_rank, dst_rank, transport, group_key;
