-- Transfers by group and pair of ranks, summed from the tasks of the collectives; only where the profiler reported none (r_link_reported). Ranks as
-- there.
-- Depends on collective, collective_task, is_posted, link, r_collective.
-- Nothing without collective, collective_task, r_collective.
INSERT INTO r_link
WITH of_name AS (
    SELECT DISTINCT capture, group_name, group_key FROM r_collective
), placed AS (
    SELECT t.capture, c.step, c.kind, k.group_key, t.src_rank, t.dst_rank, coalesce(t.link_type, t.transport) AS transport, t.size_bytes,
           CASE WHEN NOT is_posted(t.name, t.transport) THEN t.end_ns - t.start_ns END AS ns, CASE WHEN regexp_full_match(k.group_key, '[0-9]+(,[0-9]+)*') THEN string_split(k.group_key, ',') END AS members
    FROM collective_task AS t JOIN collective AS c ON c.capture = t.capture AND c.id = t.collective_id
    JOIN of_name AS k ON k.capture = c.capture AND k.group_name IS NOT DISTINCT FROM c.group_name
    WHERE t.size_bytes > 0 AND t.src_rank IS NOT NULL AND t.dst_rank IS NOT NULL AND t.capture NOT IN (SELECT capture FROM link)
)
SELECT capture, step, kind, group_key, CASE WHEN members IS NULL THEN src_rank ELSE TRY(CAST(members[src_rank + 1] AS BIGINT)) END,
       CASE WHEN members IS NULL THEN dst_rank ELSE TRY(CAST(members[dst_rank + 1] AS BIGINT)) END, transport, sum(size_bytes), sum(ns)
FROM placed GROUP BY ALL;
