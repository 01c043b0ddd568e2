-- Section links: transfers by pair of ranks, group and transport. Bytes per nanosecond are GB/s. A link is reported by the ranks at its
-- ends. Its mean is taken over the members that report it in any run of the side, because other members have no data about it. `domain` is
-- 'link' if one of these members was also measured on the other side, in the same group: a link that is missing there moved nothing. If the
-- sides share no group and each has only one, the group is dropped from the key.
-- Depends on c_capture, c_divisor, c_link, reached_rate, side_mean.
-- Nothing without c_capture, c_divisor, c_link.
WITH shared AS (
    SELECT group_key FROM c_link GROUP BY group_key HAVING count(DISTINCT side) = 2
), is_one AS (   -- one group on each side, of different names
    SELECT NOT EXISTS (FROM shared) AND max(number) = 1 AS merged FROM (SELECT side, count(DISTINCT group_key) AS number FROM c_link GROUP BY side)
), measured AS (
    SELECT DISTINCT c.side, c.run, c.role, c.folder, c.member, d.steps
    FROM c_divisor AS d JOIN c_capture AS c USING (side, run, capture) WHERE d.domain = 'link'
), amount AS (
    SELECT l.side, l.run, c.role, c.folder, c.member, l.src_rank, l.dst_rank, l.transport, CASE WHEN NOT o.merged THEN l.group_key END AS group_key,
           dense_rank() OVER (ORDER BY l.src_rank, l.dst_rank, l.transport, CASE WHEN NOT o.merged THEN l.group_key END) AS link,
           l.size_bytes, l.transit_ns
    FROM c_link AS l JOIN c_capture AS c USING (side, run, capture), is_one AS o
), reporter AS (
    SELECT DISTINCT side, role, folder, member, group_key, link FROM amount
), present AS (
    SELECT side, m.run, role, folder, r.link, count(*) AS members FROM reporter AS r JOIN measured AS m USING (side, role, folder, member) GROUP BY ALL
), replicated AS (
    SELECT side, link, count(DISTINCT run) AS runs FROM present GROUP BY ALL
), both_ends AS (   -- links that both sides could report
    SELECT DISTINCT r.link FROM reporter AS r JOIN (SELECT DISTINCT side, member, group_key FROM reporter) AS other
      ON other.member = r.member AND other.group_key IS NOT DISTINCT FROM r.group_key AND other.side <> r.side
), exact AS (
    SELECT a.side, a.link, a.src_rank, a.dst_rank, a.transport, a.group_key, m.steps * p.members * n.runs AS divisor,
           sum(a.size_bytes) AS bytes, sum(a.size_bytes) FILTER (a.transit_ns IS NOT NULL) AS timed_bytes, sum(a.transit_ns) AS ns
    FROM amount AS a
    JOIN measured AS m USING (side, run, role, folder, member)
    JOIN present AS p USING (side, run, role, folder, link)
    JOIN replicated AS n USING (side, link)
    GROUP BY ALL
)
SELECT coalesce(CAST(src_rank AS VARCHAR), '?') || '→' || coalesce(CAST(dst_rank AS VARCHAR), '?') AS name, transport, group_key,
       CASE WHEN link IN (FROM both_ends) THEN 'link' ELSE 'unknown link' END AS domain,
       bool_or(side = 'baseline') AS in_baseline, bool_or(side = 'new') AS in_new,
       side_mean(ns, divisor, side = 'baseline') AS baseline_ns, side_mean(ns, divisor, side = 'new') AS new_ns,
       side_mean(bytes, divisor, side = 'baseline') AS baseline_bytes, side_mean(bytes, divisor, side = 'new') AS new_bytes,
       reached_rate(side_mean(timed_bytes, divisor, side = 'baseline') / nullif(side_mean(ns, divisor, side = 'baseline'), 0)) AS baseline_gb_per_s,
       reached_rate(side_mean(timed_bytes, divisor, side = 'new') / nullif(side_mean(ns, divisor, side = 'new'), 0)) AS new_gb_per_s
FROM exact GROUP BY link, src_rank, dst_rank, transport, group_key;
