-- Communication operators. Before schema 1.2, the device is that of the operator's tasks, else the only device. The metadata lists the
-- members of each group. A group is found there by its name, by the hash of its name, or by the last digits of the hash, which operators
-- carry. Waiting and transfer are unknown where the tasks transfer for longer than the operator lasts: their times are damaged. They are unknown
-- over RDMA, too: a task only posts the transfer, and a Notify_Wait lasts as long as it.
-- Depends on collective_task, communication_group, communication_op, db_capture, dtype_bytes, host_op_by_connection,
-- is_posted, launch, sound_size, src_ENUM_HCCL_DATA_TYPE, task, text_by_id.
-- Nothing without communication_op.
INSERT INTO stage_collective
WITH device AS (
    SELECT capture, connection_id, min(device_id) AS device_id FROM task SEMI JOIN communication_op USING (capture, connection_id) GROUP BY ALL
), transit AS (
    SELECT capture, op_id, sum(greatest(end_ns - greatest(start_ns, coalesce(covered_ns, start_ns)), 0)) AS transit_ns
    FROM (
        SELECT capture, collective_id AS op_id, start_ns, end_ns,
               max(end_ns) OVER (PARTITION BY capture, collective_id ORDER BY start_ns, end_ns
                                 ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
        FROM collective_task
        WHERE capture IN (SELECT capture FROM db_capture) AND name IS NOT NULL AND NOT starts_with(name, 'Notify_')
    ) GROUP BY capture, op_id
), typed AS (
    SELECT capture, collective_id AS op_id FROM collective_task
    WHERE capture IN (SELECT capture FROM db_capture) AND name IS NOT NULL
    GROUP BY ALL HAVING count(*) FILTER (is_posted(name, transport)) = 0
)
SELECT
    o.capture, o.op_id, coalesce(o.device_id, d.device_id, db_capture.device_id), n.value, ot.value, g.value,
    coalesce(by_name.ranks, by_hash.ranks, by_digits.ranks), o.start_ns, o.end_ns,
    CASE WHEN typed.op_id IS NOT NULL AND coalesce(tr.transit_ns, 0) <= o.end_ns - o.start_ns THEN o.end_ns - o.start_ns - coalesce(tr.transit_ns, 0) END,
    CASE WHEN typed.op_id IS NOT NULL AND coalesce(tr.transit_ns, 0) <= o.end_ns - o.start_ns THEN coalesce(tr.transit_ns, 0) END,
    sound_size(TRY(o.element_count * dtype_bytes(e.name))), CASE WHEN e.name NOT IN ('RESERVED', 'INVALID_TYPE', 'N/A') THEN e.name END, a.value,
    NULL, l.launch_ns, h.host_op_ns
FROM communication_op AS o
LEFT JOIN device AS d USING (capture, connection_id)
LEFT JOIN launch AS l USING (capture, connection_id)
LEFT JOIN host_op_by_connection AS h USING (capture, connection_id)
LEFT JOIN transit AS tr ON tr.capture = o.capture AND tr.op_id = o.op_id
LEFT JOIN typed ON typed.capture = o.capture AND typed.op_id = o.op_id
LEFT JOIN db_capture ON db_capture.capture = o.capture
LEFT JOIN text_by_id AS n ON n.capture = o.capture AND n.id = o.name
LEFT JOIN text_by_id AS ot ON ot.capture = o.capture AND ot.id = o.op_type
LEFT JOIN text_by_id AS g ON g.capture = o.capture AND g.id = o.group_name
LEFT JOIN text_by_id AS a ON a.capture = o.capture AND a.id = o.algorithm
LEFT JOIN communication_group AS by_name ON by_name.capture = o.capture AND by_name.name = g.value
LEFT JOIN communication_group AS by_hash ON by_hash.capture = o.capture AND by_hash.group_hash = g.value
LEFT JOIN (SELECT capture, digits, any_value(ranks) AS ranks FROM communication_group GROUP BY capture, digits HAVING count(*) = 1) AS by_digits
  ON by_digits.capture = o.capture AND by_digits.digits = regexp_extract(n.value, '__([0-9]{3})_', 1)
LEFT JOIN src_ENUM_HCCL_DATA_TYPE AS e ON e.capture = o.capture AND e.id = o.dtype;
