-- Transfers by pair of ranks. Reported ones where there are any, else summed from the tasks of the collectives.
-- Depends on link, collective_task, r_collective.
INSERT INTO r_link
SELECT l.capture, l.step, l.kind, NULL, l.src_rank, l.dst_rank, l.transport, sum(l.size_bytes), sum(l.transit_ns)
FROM link AS l GROUP BY ALL;
INSERT INTO r_link
SELECT t.capture, c.step, c.kind, NULL, t.src_rank, t.dst_rank, coalesce(t.link_type, t.transport), sum(t.size_bytes), sum(t.end_ns - t.start_ns)
FROM collective_task AS t JOIN collective AS c ON c.capture = t.capture AND c.id = t.collective_id
WHERE t.size_bytes > 0 AND t.src_rank IS NOT NULL AND t.dst_rank IS NOT NULL AND t.capture NOT IN (SELECT capture FROM link)
GROUP BY ALL;
