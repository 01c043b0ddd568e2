-- Problems found in this export: (severity, key, message).
-- Variables: capture, nsys_epoch_ns.
-- Depends on nsys_mark, nsys_task, stage_kernel.
SELECT 'warning', 'damaged_time', count(*) || ' tasks have no usable time and were left out' FROM nsys_task WHERE NOT sound HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'lost_kernels', count(*) FILTER (NOT sound) || ' of ' || count(*) || ' tasks have no usable time and do not count, so no causes are named'
FROM nsys_task HAVING count(*) FILTER (NOT sound) * 200 > count(*)
UNION ALL
SELECT 'info', 'unknown_epoch', 'the start of its clock is unknown (TARGET_INFO_SESSION_START_TIME is missing): only collectives align its times with those of other files'
WHERE getvariable('nsys_epoch_ns') = 0
UNION ALL
SELECT 'info', 'whole_graphs', count(*) || ' CUDA graph replays were recorded as a whole and count as one kernel each (to record their kernels: nsys profile --cuda-graph-trace=node)'
FROM nsys_task WHERE what = 'graph' HAVING count(*) > 0
UNION ALL
SELECT 'info', 'no_kernels', 'no kernels were recorded: compute is absent' WHERE NOT EXISTS (FROM stage_kernel WHERE capture = getvariable('capture'))
UNION ALL
SELECT 'info', 'unlinked', count(*) || ' of ' || (SELECT count(*) FROM nsys_task) || ' tasks on the device have no launch in the export'
FROM nsys_task WHERE launch_ns IS NULL HAVING count(*) > 0
UNION ALL
SELECT 'info', 'open_ranges', count(*) || ' ranges were still open when the recording ended; they count as marks' FROM nsys_mark WHERE is_open HAVING count(*) > 0;
