-- What only some members or runs of a role recorded. A mean would count it as 0 in the others, or be that of other members than the times beside it,
-- so it is not compared.
-- Depends on c_capture, c_collective, c_kernel, c_module, c_operator, c_several, c_task, c_time.
-- Nothing without c_capture, c_several.
CREATE TABLE c_uneven AS
WITH kernels AS (
    SELECT c.side, c.run, c.role, c.folder, c.member, count(k.op_type) > 0 AS kernel_types, count(k.input_shapes) > 0 AS kernel_shapes,
           count(k.core_type) > 0 AS kernel_cores, count(k.phase) > 0 AS kernel_phases, count(k.host_op) > 0 AS kernel_hosts,
           count(k.elements) > 0 AS kernel_elements
    FROM c_kernel AS k JOIN c_capture AS c USING (side, run, capture) GROUP BY ALL
), collectives AS (
    SELECT c.side, c.run, c.role, c.folder, c.member, count(l.wait_ns) > 0 AS collective_waits, count(l.size_bytes) > 0 AS collective_sizes,
           count(l.exposed_ns) > 0 AS collective_exposed, bool_or((l.side, l.run, l.capture) IN (SELECT (side, run, capture) FROM c_task)) AS collective_tasks
    FROM c_collective AS l JOIN c_capture AS c USING (side, run, capture) GROUP BY ALL
), times AS (
    SELECT c.side, c.run, c.role, c.folder, c.member, count(t.exposed_copy_ns) > 0 AS time_copies
    FROM c_time AS t JOIN c_capture AS c USING (side, run, capture) WHERE t.free_ns IS NOT NULL GROUP BY ALL
), operators AS (
    SELECT c.side, c.run, c.role, c.folder, c.member, count(o.device_total_ns) > 0 AS operator_times
    FROM c_operator AS o JOIN c_capture AS c USING (side, run, capture) GROUP BY ALL
), modules AS (
    SELECT c.side, c.run, c.role, c.folder, c.member, count(m.device_ns) > 0 AS module_times
    FROM c_module AS m JOIN c_capture AS c USING (side, run, capture) GROUP BY ALL
), known AS (
    SELECT side, role, folder, what, is_known FROM (UNPIVOT kernels ON COLUMNS('^kernel_') INTO NAME what VALUE is_known)
    UNION ALL SELECT side, role, folder, what, is_known FROM (UNPIVOT collectives ON COLUMNS('^collective_') INTO NAME what VALUE is_known)
    UNION ALL SELECT side, role, folder, what, is_known FROM (UNPIVOT times ON time_copies INTO NAME what VALUE is_known)
    UNION ALL SELECT side, role, folder, what, is_known FROM (UNPIVOT operators ON operator_times INTO NAME what VALUE is_known)
    UNION ALL SELECT side, role, folder, what, is_known FROM (UNPIVOT modules ON module_times INTO NAME what VALUE is_known)
)
SELECT DISTINCT side, what FROM known WHERE (side, role, folder) IN (FROM c_several)
GROUP BY side, role, folder, what HAVING bool_or(is_known) <> bool_and(is_known);
