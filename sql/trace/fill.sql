-- The spans of one step of one side, from the attached store, which has events. Tasks on a device are those of the step; what the host
-- launches is what overlaps it.
-- Variables: captures, side, step.
-- Depends on capture, collective, copy, host_api, host_compute, host_op, kernel, phase, step, trace_arg, trace_text.
-- Run by name: for each side, with its store attached.
CREATE OR REPLACE TEMP TABLE trace_capture AS
SELECT capture, executor, coalesce(replica + 1, 0) * 1000000 + coalesce(rank, ordinal) AS member_order,
       CASE WHEN replica IS NULL AND rank IS NULL THEN 'capture ' || ordinal
            ELSE concat_ws(' ', CASE WHEN phase IS NULL AND replica IS NULL THEN role END, 'replica ' || replica, 'rank ' || rank) END AS member
FROM store.capture WHERE list_contains(getvariable('captures'), capture);
CREATE OR REPLACE TEMP TABLE trace_task AS
SELECT k.capture, 'compute' AS kind, concat_ws(', ', 'compute', 'device ' || k.device_id, 'stream ' || k.stream) AS lane, coalesce(k.stream, 0) AS place,
       k.phase, coalesce(k.op_type, k.name, 'kernel') AS name, k.start_ns, k.end_ns,
       concat_ws(',', trace_arg('kernel', trace_text(k.name)), trace_arg('core_type', k.core_type), trace_arg('input_shapes', trace_text(k.input_shapes)),
                 trace_arg('input_dtypes', trace_text(k.input_dtypes)), trace_arg('blocks', k.block_num)) AS args
FROM store.kernel AS k WHERE k.step = getvariable('step') AND k.end_ns >= k.start_ns AND list_contains(getvariable('captures'), k.capture)
UNION ALL
SELECT c.capture, 'comm', concat_ws(', ', 'communication', 'device ' || c.device_id), 0, c.phase, c.kind, c.start_ns, c.end_ns,
       concat_ws(',', trace_arg('operator', trace_text(c.name)), trace_arg('group', trace_text(c.group_name)), trace_arg('ranks', trace_text(c.group_ranks)),
                 trace_arg('ordinal', c.ordinal), trace_arg('bytes', c.size_bytes), trace_arg('dtype', c.dtype), trace_arg('wait_us', c.wait_ns / 1000))
FROM store.collective AS c WHERE c.step = getvariable('step') AND c.end_ns >= c.start_ns AND list_contains(getvariable('captures'), c.capture)
UNION ALL
SELECT y.capture, 'copy', concat_ws(', ', 'copies', 'device ' || y.device_id), 0, y.phase, y.kind, y.start_ns, y.end_ns, concat_ws(',', trace_arg('bytes', y.size_bytes), trace_arg('stream', y.stream))
FROM store.copy AS y WHERE y.step = getvariable('step') AND y.end_ns >= y.start_ns AND list_contains(getvariable('captures'), y.capture)
UNION ALL
SELECT h.capture, 'compute', 'operators, thread ' || coalesce(CAST(o.thread AS VARCHAR), '?'), coalesce(o.thread, 0), h.phase, coalesce(o.name, 'operator'), h.start_ns, h.end_ns,
       concat_ws(',', trace_arg('input_shapes', trace_text(o.input_shapes)))
FROM store.host_compute AS h LEFT JOIN store.host_op AS o ON o.capture = h.capture AND o.id = h.id
WHERE h.step = getvariable('step') AND h.end_ns >= h.start_ns AND list_contains(getvariable('captures'), h.capture);
CREATE OR REPLACE TEMP TABLE trace_window AS
SELECT c.capture, min(coalesce(s.start_ns, t.start_ns)) AS from_ns, max(greatest(s.end_ns, t.end_ns)) AS until_ns
FROM trace_capture AS c LEFT JOIN trace_task AS t ON t.capture = c.capture
LEFT JOIN store.step AS s ON s.capture = c.capture AND s.step = getvariable('step')
GROUP BY c.capture;
INSERT INTO trace_start SELECT getvariable('side'), min(from_ns) FROM trace_window HAVING min(from_ns) IS NOT NULL;
INSERT INTO trace_event
WITH span AS (
    SELECT t.capture, t.kind, t.lane, t.place, t.name, t.start_ns, t.end_ns, concat_ws(',', trace_arg('phase', p.name), trace_arg('step', getvariable('step')), nullif(t.args, '')) AS args
    FROM trace_task AS t LEFT JOIN store.phase AS p ON p.capture = t.capture AND p.id = t.phase
    UNION ALL
    SELECT s.capture, 'step', 'step', 0, 'step ' || s.step, s.start_ns, s.end_ns, ''
    FROM store.step AS s JOIN trace_capture AS c ON c.capture = s.capture WHERE s.step = getvariable('step') AND s.end_ns >= s.start_ns
    UNION ALL
    SELECT p.capture, 'phase', 'phases', 0, p.name, min(p.start_ns), max(p.end_ns), concat_ws(',', trace_arg('role', any_value(p.role)), trace_arg('call', p.call))
    FROM store.phase AS p JOIN trace_capture AS c ON c.capture = p.capture
    WHERE p.step = getvariable('step') AND p.end_ns >= p.start_ns AND p.start_ns > 0 GROUP BY p.capture, p.id, p.call, p.name
    UNION ALL
    SELECT a.capture, 'launch', 'host launches, thread ' || coalesce(CAST(a.thread AS VARCHAR), '?'), coalesce(a.thread, 0), coalesce(a.name, a.layer), a.start_ns, a.end_ns,
           concat_ws(',', trace_arg('layer', a.layer))
    FROM store.host_api AS a JOIN trace_window AS w ON w.capture = a.capture AND a.start_ns >= w.from_ns AND a.start_ns < w.until_ns
    WHERE a.connection_id IS NOT NULL AND a.end_ns >= a.start_ns
    QUALIFY a.start_ns >= coalesce(max(a.end_ns) OVER (PARTITION BY a.capture, a.thread ORDER BY a.start_ns, a.end_ns DESC, a.layer
                                                       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), a.start_ns)
)
SELECT getvariable('side'), c.member, c.member_order, s.kind, s.lane, s.place, trace_text(s.name), s.start_ns, s.end_ns, s.args
FROM span AS s JOIN trace_capture AS c ON c.capture = s.capture;
