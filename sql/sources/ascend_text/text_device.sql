-- Sets text_device: the only device of this capture, or NULL if there are several or none is known. The first of these that names a device
-- decides: kernel_details.csv, step_trace_time.csv, the trace, the memory files. Totals without a device get this device.
-- Variables: capture.
-- Depends on memory, reported_kernel_type, reported_step_time, text_kernel, trace_process.
SET VARIABLE text_device = (
    WITH told AS (
        SELECT DISTINCT device_id, 1 AS place FROM text_kernel
        UNION ALL SELECT DISTINCT device_id, 2 FROM reported_step_time WHERE capture = getvariable('capture')
        UNION ALL SELECT DISTINCT device_id, 3 FROM trace_process
        UNION ALL SELECT DISTINCT device_id, 4 FROM memory WHERE capture = getvariable('capture')
    )
    SELECT CASE WHEN count(DISTINCT device_id) = 1 THEN min(device_id) END
    FROM told WHERE place = (SELECT min(place) FROM told WHERE device_id IS NOT NULL)
);
UPDATE reported_step_time SET device_id = getvariable('text_device') WHERE capture = getvariable('capture') AND device_id IS NULL;
UPDATE reported_kernel_type SET device_id = getvariable('text_device') WHERE capture = getvariable('capture') AND device_id IS NULL;
