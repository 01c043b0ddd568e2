-- Copies between host and device or on devices, and memory sets, which keep a device's memory busy as copies do. A trace of a device lists
-- all of them. Its rows in device_window say so, and the part that no kernel covers is known.
-- Variables: capture.
-- Depends on sound_size, trace_link, trace_task.
INSERT INTO stage_copy BY NAME
SELECT t.id, t.device_id, t.stream,
       CASE WHEN t.cat = 'gpu_memset' THEN 'memset'
            WHEN regexp_matches(t.name || ' ' || coalesce(t.args ->> 'kind', ''), 'HtoD|HostToDevice') THEN 'host_to_device'
            WHEN regexp_matches(t.name || ' ' || coalesce(t.args ->> 'kind', ''), 'DtoH|DeviceToHost') THEN 'device_to_host'
            WHEN regexp_matches(t.name || ' ' || coalesce(t.args ->> 'kind', ''), 'DtoD|PtoP|DeviceToDevice') THEN 'device_to_device'
            ELSE 'memcpy_async' END AS kind,
       sound_size(TRY_CAST(t.args ->> 'bytes' AS BIGINT)) AS size_bytes, t.start_ns, t.end_ns, l.launch_ns, l.host_op_ns
FROM trace_task AS t JOIN trace_link AS l USING (id)
WHERE t.cat <> 'kernel';
INSERT INTO device_window BY NAME
SELECT getvariable('capture') AS capture, device_id, min(start_ns) FILTER (cat <> 'kernel') AS first_ns, max(end_ns) FILTER (cat <> 'kernel') AS last_ns
FROM trace_task GROUP BY device_id;
