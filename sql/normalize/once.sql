-- Kernels, collectives, their tasks and copies count once, however often the profile has them: a file that was exported or merged twice, or a
-- key that several rows share, would multiply every time. Of one id the first counts. So does the first of those that agree in all that a source tells:
-- one stream runs one task at a time. To look for them takes a scan of a few numbers; only where some are found texts are compared.
-- Variables: capture.
-- Depends on collective_task, stage_collective, stage_copy, stage_kernel.
SET VARIABLE tasks_before = (SELECT count(*) FROM stage_kernel) + (SELECT count(*) FROM stage_collective) + (SELECT count(*) FROM stage_copy);
SET VARIABLE same_kernels = (SELECT count(*) > least(count(DISTINCT id), count(DISTINCT hash(device_id, stream, start_ns, end_ns))) FROM stage_kernel);
SET VARIABLE same_collectives = (SELECT count(*) > least(count(DISTINCT id), count(DISTINCT hash(device_id, name, start_ns, end_ns))) FROM stage_collective);
SET VARIABLE same_copies = (SELECT count(*) > least(count(DISTINCT id), count(DISTINCT hash(device_id, stream, start_ns, end_ns))) FROM stage_copy);
SET VARIABLE same_parts = (SELECT count(*) > count(DISTINCT hash(collective_id, plane, start_ns, end_ns, name)) FROM collective_task WHERE capture = getvariable('capture'));
DELETE FROM stage_kernel WHERE getvariable('same_kernels') AND rowid NOT IN (SELECT min(rowid) FROM stage_kernel GROUP BY id);
DELETE FROM stage_kernel WHERE getvariable('same_kernels') AND end_ns > start_ns AND rowid NOT IN (
    SELECT min(rowid) FROM stage_kernel
    GROUP BY device_id, stream, name, op_type, core_type, start_ns, end_ns, wait_ns, input_shapes, input_dtypes, block_num, reported_step, launch_ns);
DELETE FROM stage_collective WHERE getvariable('same_collectives') AND rowid NOT IN (SELECT min(rowid) FROM stage_collective GROUP BY id);
DELETE FROM stage_collective WHERE getvariable('same_collectives') AND end_ns > start_ns AND rowid NOT IN (
    SELECT min(rowid) FROM stage_collective GROUP BY device_id, name, op_type, group_name, start_ns, end_ns, size_bytes, dtype, reported_step, launch_ns);
DELETE FROM stage_copy WHERE getvariable('same_copies') AND rowid NOT IN (SELECT min(rowid) FROM stage_copy GROUP BY id);
DELETE FROM stage_copy WHERE getvariable('same_copies') AND end_ns > start_ns AND rowid NOT IN (
    SELECT min(rowid) FROM stage_copy GROUP BY device_id, stream, kind, size_bytes, start_ns, end_ns, reported_step, launch_ns);
DELETE FROM collective_task WHERE getvariable('same_parts') AND capture = getvariable('capture') AND end_ns > start_ns AND rowid NOT IN (
    SELECT min(rowid) FROM collective_task WHERE capture = getvariable('capture')
    GROUP BY collective_id, name, plane, start_ns, end_ns, size_bytes, src_rank, dst_rank, transport, link_type);
SET VARIABLE repeated_tasks = getvariable('tasks_before')
    - (SELECT count(*) FROM stage_kernel) - (SELECT count(*) FROM stage_collective) - (SELECT count(*) FROM stage_copy);
