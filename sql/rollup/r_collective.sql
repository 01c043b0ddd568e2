-- Collectives in order of time, with a group key that has the same meaning in other runs: the members of the group. If these are unknown,
-- groups are numbered by their kinds of collectives, then by first use. The order of first use alone would not be stable: two groups may
-- take turns in starting first.
-- Depends on collective, phase.
-- Nothing without collective.
INSERT INTO r_collective
WITH first_use AS (
    SELECT capture, group_name, row_number() OVER (PARTITION BY capture ORDER BY list_sort(list(DISTINCT kind)), min(start_ns), group_name) - 1 AS position
    FROM collective GROUP BY capture, group_name
), keyed AS (
    SELECT c.*, coalesce(c.group_ranks, 'group ' || f.position) AS group_key
    FROM collective AS c JOIN first_use AS f ON f.capture = c.capture AND f.group_name IS NOT DISTINCT FROM c.group_name
)
SELECT k.capture, k.device_id, k.step, p.name, k.kind, k.group_key, k.group_name,
       row_number() OVER (PARTITION BY k.capture, k.device_id, k.step, k.kind, k.group_key ORDER BY k.start_ns, k.id) - 1,
       k.name, k.start_ns, k.end_ns, k.wait_ns, k.transit_ns, k.size_bytes, k.dtype, k.busy_ns, k.exposed_ns
FROM keyed AS k LEFT JOIN phase AS p ON p.capture = k.capture AND p.id = k.phase;
