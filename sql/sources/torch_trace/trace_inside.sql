-- Makes trace_inside: the innermost framework operator at each requested moment of a host thread (a launch, or a change of memory). Old
-- traces round times, so that operators may end after their parents. Counting open operators would then give wrong results, so containment
-- itself is tested. An operator of up to 2^n nanoseconds lies in one or two slots of that length. A moment is looked up in the one slot of
-- each length that contains it.
-- Variables: capture.
-- Depends on stage_host_op, trace_event, trace_task.
CREATE OR REPLACE TEMP TABLE trace_inside AS
WITH moment AS (
    SELECT DISTINCT thread, launch_ns AS ns FROM trace_task WHERE launch_ns IS NOT NULL AND thread IS NOT NULL
    UNION SELECT thread, start_ns FROM trace_event WHERE ph = 'i' AND thread IS NOT NULL AND sound
), asked AS (
    SELECT thread, ns, unnest(range(10, 50, 3)) AS size FROM moment
), sized AS (
    SELECT id, thread, start_ns, end_ns, 10 + 3 * CAST(greatest(ceil((log2(end_ns - start_ns + 1) - 10) / 3), 0) AS BIGINT) AS size FROM stage_host_op WHERE capture = getvariable('capture')
), slot AS (
    SELECT id, thread, start_ns, end_ns, size, start_ns >> size AS slot FROM sized
    UNION ALL SELECT id, thread, start_ns, end_ns, size, end_ns >> size FROM sized WHERE end_ns >> size <> start_ns >> size
)
SELECT a.thread, a.ns, arg_max(s.id, {'start': s.start_ns, 'shorter': -s.end_ns, 'id': s.id}) AS host_op_id
FROM asked AS a JOIN slot AS s ON s.thread = a.thread AND s.size = a.size AND s.slot = a.ns >> a.size AND s.start_ns <= a.ns AND s.end_ns >= a.ns
GROUP BY a.thread, a.ns;
