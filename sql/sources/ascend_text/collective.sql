-- Collectives, and the tasks that they are made of. They are listed in kernel_details.csv (with their step), else in the trace, else in
-- communication.json. The other files add what they know of the same operator. Times come from the trace if it has the operator, because
-- the CSV cuts off digits. Transit and wait times come from the tasks (but not over RDMA, where a task only posts the transfer), else from
-- communication.json if they fit into the operator's duration (to a microsecond), else they are unknown (Level0).
-- A group has the name of its thread in the trace, else the hash of its name. profiler_metadata.json lists its members, under a name with
-- that hash. The three digits in an operator's name are the last three of the hash.
-- Variables: capture, text_device.
-- Depends on collective_task, communication_group, dtype_bytes, is_posted, lost_collective, profile_text,
-- stage_collective, stage_step, text_communication, text_kernel, trace_comm, trace_link.
CREATE OR REPLACE TEMP TABLE text_collective AS
WITH listed AS (
    SELECT device_id, name, op_type, start_ns, end_ns, step FROM text_kernel
    WHERE is_comm AND (end_ns IS NOT NULL OR NOT EXISTS (FROM lost_collective))
    UNION ALL
    SELECT device_id, name, NULL, start_ns, end_ns, step FROM lost_collective
    UNION ALL
    SELECT device_id, name, NULL, start_ns, end_ns, NULL FROM trace_comm WHERE whole AND NOT EXISTS (FROM text_kernel WHERE is_comm) AND NOT EXISTS (FROM lost_collective)
    UNION ALL
    SELECT NULL, name, NULL, start_ns, end_ns, step FROM text_communication
    WHERE NOT EXISTS (FROM text_kernel WHERE is_comm) AND NOT EXISTS (FROM trace_comm WHERE whole)
), numbered AS (
    SELECT row_number() OVER (ORDER BY start_ns, name) AS id, *, start_ns + 1000 AS latest_ns, regexp_extract(name, '__([0-9]{3})_', 1) AS digits,
           coalesce(getvariable('text_device'), device_id, -1) AS device FROM listed
), traced AS (
    SELECT n.*, t.pid, t.tid, t.device_id AS traced_device_id, t.group_tid, t.group_name, t.start_ns AS traced_start_ns, t.end_ns AS traced_end_ns, t.dtype, t.algorithm,
           t.element_count, t.start_ns >= n.start_ns - 1000 AS is_traced
    FROM numbered AS n
    ASOF LEFT JOIN (SELECT *, coalesce(getvariable('text_device'), device_id, -1) AS device FROM trace_comm WHERE whole) AS t
      ON t.name = n.name AND t.device = n.device AND n.latest_ns >= t.start_ns
), timed AS (
    SELECT *, CASE WHEN is_traced THEN traced_start_ns ELSE start_ns END AS from_ns, CASE WHEN is_traced THEN traced_end_ns ELSE end_ns END AS until_ns,
           until_ns - from_ns AS length_ns
    FROM traced
), reported AS (
    SELECT t.*, c.transit_ns, c.wait_ns, c.start_ns >= t.start_ns - 1000 AS is_reported,
           t.length_ns IS NULL OR coalesce(TRY(coalesce(c.transit_ns, 0) + coalesce(c.wait_ns, 0) <= t.length_ns + 1000), false) AS fits
    FROM timed AS t ASOF LEFT JOIN text_communication AS c ON c.name = t.name AND t.latest_ns >= c.start_ns
), by_name AS (
    SELECT name, any_value(group_hash) AS group_hash FROM text_communication WHERE group_hash IS NOT NULL GROUP BY name
), by_digits AS (
    SELECT right(group_hash, 3) AS digits, any_value(group_hash) AS group_hash
    FROM (SELECT group_hash FROM text_communication WHERE group_hash IS NOT NULL UNION SELECT group_hash FROM communication_group)
    GROUP BY ALL HAVING count(*) = 1
)
SELECT r.id, r.device_id, r.name, r.op_type, r.step, CASE WHEN r.is_traced THEN r.pid END AS pid, CASE WHEN r.is_traced THEN r.tid END AS tid,
       CASE WHEN r.is_traced THEN r.group_tid END AS group_tid, CASE WHEN r.is_traced THEN r.traced_device_id END AS traced_device_id,
       CASE WHEN r.is_traced THEN r.group_name END AS thread_name, coalesce(n.group_hash, d.group_hash) AS group_hash, nullif(r.digits, '') AS digits,
       r.from_ns AS start_ns, r.until_ns AS end_ns,
       CASE WHEN r.is_traced THEN r.dtype END AS dtype, CASE WHEN r.is_traced THEN r.algorithm END AS algorithm,
       CASE WHEN r.is_traced THEN TRY(r.element_count * dtype_bytes(r.dtype)) END AS payload_bytes,
       CASE WHEN r.is_reported AND r.fits AND r.transit_ns IS NOT NULL THEN least(r.transit_ns, r.length_ns) END AS reported_transit_ns,
       CASE WHEN r.is_reported AND r.fits AND r.wait_ns IS NOT NULL THEN least(r.wait_ns, r.length_ns - least(coalesce(r.transit_ns, 0), r.length_ns)) END
       AS reported_wait_ns
FROM reported AS r LEFT JOIN by_name AS n USING (name) LEFT JOIN by_digits AS d USING (digits);
INSERT INTO collective_task
SELECT getvariable('capture'), c.id, t.name, t.plane, t.start_ns, t.end_ns, t.size_bytes, t.src_rank, t.dst_rank, t.transport, t.link_type
FROM (FROM trace_comm WHERE NOT whole) AS t
ASOF JOIN (FROM text_collective WHERE pid IS NOT NULL) AS c ON c.pid = t.pid AND c.group_tid = t.group_tid AND t.start_ns >= c.start_ns
WHERE t.start_ns <= c.end_ns;
INSERT INTO stage_collective
WITH own AS (
    SELECT collective_id, name, start_ns, end_ns, is_posted(name, transport) AS is_posted,
           max(end_ns) FILTER (NOT starts_with(name, 'Notify_')) OVER (
               PARTITION BY collective_id ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
    FROM collective_task WHERE capture = getvariable('capture') AND name IS NOT NULL
), transit AS (
    SELECT collective_id AS id, coalesce(sum(greatest(end_ns - greatest(start_ns, coalesce(covered_ns, start_ns)), 0)) FILTER (NOT starts_with(name, 'Notify_')), 0) AS transit_ns
    FROM own GROUP BY ALL HAVING count(*) FILTER (is_posted) = 0
)
SELECT getvariable('capture'), c.id, coalesce(c.device_id, getvariable('text_device'), c.traced_device_id), profile_text(c.name), profile_text(c.op_type),
       coalesce(c.thread_name, c.group_hash, c.digits), g.ranks, c.start_ns, c.end_ns,
       coalesce(c.end_ns - c.start_ns - t.transit_ns, c.reported_wait_ns), coalesce(t.transit_ns, c.reported_transit_ns),
       c.payload_bytes, c.dtype, c.algorithm, c.step, l.launch_ns, l.host_op_ns
FROM text_collective AS c
LEFT JOIN transit AS t ON t.id = c.id AND t.transit_ns <= c.end_ns - c.start_ns
LEFT JOIN communication_group AS g USING (group_hash)
LEFT JOIN trace_link AS l ON l.pid = c.pid AND l.tid = c.tid AND l.start_ns = c.start_ns;
UPDATE stage_collective SET reported_step = NULL
WHERE capture = getvariable('capture') AND EXISTS (FROM lost_collective)
  AND EXISTS (FROM stage_step WHERE capture = getvariable('capture') AND start_ns IS NOT NULL);
