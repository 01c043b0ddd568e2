-- Removes duplicates of kernels, collectives, their tasks and copies, which would multiply times. They come from files that were exported
-- or merged twice, and from keys that several rows share. Of rows with the same id, only the first is kept. Of rows that agree in all
-- reported values, also only the first is kept, because a stream runs one task at a time. A cheap check on a few numbers comes first; texts
-- are compared only if it finds duplicates.
-- Depends on collective_task, stage_collective, stage_copy, stage_kernel.
-- Nothing without stage_collective + stage_copy + stage_kernel.
CREATE OR REPLACE TEMP TABLE task_before AS
SELECT capture, count(*) AS tasks FROM (
    SELECT capture FROM stage_kernel UNION ALL SELECT capture FROM stage_collective UNION ALL SELECT capture FROM stage_copy
) GROUP BY capture;
SET VARIABLE same_kernels = (SELECT count(*) > least(count(DISTINCT hash(capture, id)), count(DISTINCT hash(capture, device_id, stream, start_ns, end_ns))) FROM stage_kernel);
SET VARIABLE same_collectives = (SELECT count(*) > least(count(DISTINCT hash(capture, id)), count(DISTINCT hash(capture, device_id, name, start_ns, end_ns))) FROM stage_collective);
SET VARIABLE same_copies = (SELECT count(*) > least(count(DISTINCT hash(capture, id)), count(DISTINCT hash(capture, device_id, stream, start_ns, end_ns))) FROM stage_copy);
SET VARIABLE same_parts = (SELECT count(*) > count(DISTINCT hash(capture, collective_id, plane, start_ns, end_ns, name)) FROM collective_task);
DELETE FROM stage_kernel WHERE getvariable('same_kernels') AND rowid NOT IN (SELECT min(rowid) FROM stage_kernel GROUP BY capture, id);
DELETE FROM stage_kernel WHERE getvariable('same_kernels') AND end_ns > start_ns AND rowid NOT IN (
    SELECT min(rowid) FROM stage_kernel
    GROUP BY capture, device_id, stream, name, op_type, core_type, start_ns, end_ns, wait_ns, input_shapes, input_dtypes, block_num, reported_step, launch_ns);
DELETE FROM stage_collective WHERE getvariable('same_collectives') AND rowid NOT IN (SELECT min(rowid) FROM stage_collective GROUP BY capture, id);
DELETE FROM stage_collective WHERE getvariable('same_collectives') AND end_ns > start_ns AND rowid NOT IN (
    SELECT min(rowid) FROM stage_collective
    GROUP BY capture, device_id, name, op_type, group_name, start_ns, end_ns, size_bytes, dtype, reported_step, launch_ns);
DELETE FROM stage_copy WHERE getvariable('same_copies') AND rowid NOT IN (SELECT min(rowid) FROM stage_copy GROUP BY capture, id);
DELETE FROM stage_copy WHERE getvariable('same_copies') AND end_ns > start_ns AND rowid NOT IN (
    SELECT min(rowid) FROM stage_copy GROUP BY capture, device_id, stream, kind, size_bytes, start_ns, end_ns, reported_step, launch_ns);
DELETE FROM collective_task WHERE getvariable('same_parts') AND end_ns > start_ns AND rowid NOT IN (
    SELECT min(rowid) FROM collective_task
    GROUP BY capture, collective_id, name, plane, start_ns, end_ns, size_bytes, src_rank, dst_rank, transport, link_type);
CREATE OR REPLACE TEMP TABLE repeated_task AS
SELECT b.capture, b.tasks - coalesce(a.tasks, 0) AS repeated
FROM task_before AS b LEFT JOIN (
    SELECT capture, count(*) AS tasks FROM (
        SELECT capture FROM stage_kernel UNION ALL SELECT capture FROM stage_collective UNION ALL SELECT capture FROM stage_copy
    ) GROUP BY capture
) AS a ON a.capture = b.capture
WHERE b.tasks > coalesce(a.tasks, 0);
