-- Tasks of collectives by name; Level0 has no names.
-- Depends on collective, collective_task.
-- Nothing without collective, collective_task.
INSERT INTO r_collective_task
SELECT t.capture, c.step, c.kind, t.name, count(*), sum(t.end_ns - t.start_ns), min(t.end_ns - t.start_ns), max(t.end_ns - t.start_ns), sum(t.size_bytes)
FROM collective_task AS t JOIN collective AS c ON c.capture = t.capture AND c.id = t.collective_id
WHERE t.name IS NOT NULL
GROUP BY ALL;
