-- Events on the host: framework operators, nn.Module spans, calls of the device's runtime or driver, annotations, steps.
-- The mark of a step is an annotation (in 2021 an operator). Its copy on the device's track (gpu_user_annotation) is not a step. If the
-- capture states its training step (step_hint), marks count as steps only if one of them has that number. Other marks count something
-- smaller, such as mini-batches, and are ranges only. If only verl's tree gives the step (step_place), marks are always ranges only: verl
-- advances torch's profiler once per mini-batch, and engines once per iteration. If ticks were sampled (variable is_sample), marks are
-- never steps, because a tick may have the number of the training step by chance.
-- Variables: capture, is_sample.
-- Depends on capture, profile_text, range, trace_event.
INSERT INTO stage_host_op
SELECT getvariable('capture'), id, thread, profile_text(name), start_ns, end_ns, CASE WHEN sequence_number >= 0 THEN sequence_number END, input_shapes, input_dtypes
FROM trace_event WHERE cat = 'cpu_op' AND sound AND NOT starts_with(name, 'ProfilerStep#');
INSERT INTO module
SELECT getvariable('capture'), thread, profile_text(substr(name, 12)), start_ns, end_ns FROM trace_event WHERE cat = 'python_function' AND sound;
INSERT INTO host_api
SELECT getvariable('capture'), thread, 'runtime', profile_text(name), start_ns, end_ns, TRY_CAST(args ->> 'correlation' AS BIGINT)
FROM trace_event WHERE (cat LIKE '%\_runtime' ESCAPE '\' OR cat LIKE '%\_driver' ESCAPE '\') AND sound;
INSERT INTO "range"
SELECT getvariable('capture'), NULL, profile_text(name), CASE WHEN end_ns > start_ns THEN 'range' ELSE 'mark' END,
       CASE cat WHEN 'user_annotation' THEN 'host' ELSE 'device' END, CASE cat WHEN 'user_annotation' THEN thread END,
       CASE cat WHEN 'gpu_user_annotation' THEN thread END, start_ns, end_ns
FROM trace_event WHERE cat IN ('user_annotation', 'gpu_user_annotation') AND sound;
INSERT INTO stage_phase
SELECT capture, name, thread, start_ns, end_ns FROM "range" WHERE capture = getvariable('capture') AND kind = 'range' AND side = 'host';
INSERT INTO stage_step
WITH marked AS (
    SELECT TRY_CAST(substr(name, 14) AS BIGINT) AS number, start_ns, end_ns
    FROM trace_event WHERE cat IN ('user_annotation', 'cpu_op') AND sound AND starts_with(name, 'ProfilerStep#')
)
SELECT getvariable('capture'), m.number, m.start_ns, m.end_ns
FROM marked AS m JOIN capture AS c ON c.capture = getvariable('capture')
WHERE m.number IS NOT NULL AND NOT coalesce(getvariable('is_sample'), FALSE) AND (coalesce(c.step_hint, c.step_place) IS NULL OR c.step_hint IN (SELECT number FROM marked));
