-- Problems found in this trace: (severity, key, message).
-- Variables: capture.
-- Depends on capture, stage_kernel, trace_event, trace_task.
SELECT 'warning', 'damaged_time', count(*) || ' events have no usable time and were left out' FROM trace_event WHERE NOT sound HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'lost_kernels', count(*) FILTER (NOT sound) || ' of ' || count(*) || ' kernels and operators have no usable time and do not count, so no causes are named'
FROM trace_event WHERE cat IN ('kernel', 'cpu_op') HAVING count(*) FILTER (NOT sound) * 200 > count(*)
UNION ALL
SELECT 'warning', 'several_processes', 'it holds the operators of ' || count(DISTINCT process) || ' processes, whose launches cannot be told apart, so no causes are named: pass the traces of the ranks instead'
FROM trace_event WHERE process IS NOT NULL HAVING count_if(process <> (SELECT mode(process) FROM trace_event)) * 200 > count(*)
UNION ALL
SELECT 'info', 'unknown_epoch', 'the start of its clock is unknown (baseTimeNanoseconds is missing): only collectives align its times with those of other files'
FROM trace_event WHERE sound HAVING max(start_ns) < 1000000000000000000
UNION ALL
SELECT 'info', 'host_only', 'no device was recorded: compute is the time of the outermost aten operators, communication that of gloo'
FROM capture WHERE capture = getvariable('capture') AND executor = 'host'
UNION ALL
SELECT 'info', 'no_kernels', 'no kernels were recorded, although a device was used: compute is absent'
FROM capture WHERE capture = getvariable('capture') AND executor = 'device' AND NOT EXISTS (FROM stage_kernel WHERE capture = getvariable('capture'))
UNION ALL
SELECT 'info', 'unlinked', count(*) || ' of ' || (SELECT count(*) FROM trace_task) || ' tasks on the device have no launch in the trace'
FROM trace_task WHERE launch_ns IS NULL HAVING count(*) > 0;
