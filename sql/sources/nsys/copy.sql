-- Copies by CUPTI's kinds, and memory sets, which keep a device's memory busy as copies do.
-- Variables: capture.
-- Depends on nsys_task.
-- Nothing without nsys_task.
INSERT INTO stage_copy BY NAME
SELECT id, device_id, stream,
       CASE WHEN what = 'memset' THEN 'memset' WHEN copy_kind IN (1, 3, 11) THEN 'host_to_device' WHEN copy_kind IN (2, 4, 12) THEN 'device_to_host'
            WHEN copy_kind IN (5, 6, 7, 8, 10, 13) THEN 'device_to_device' ELSE 'memcpy_async' END AS kind,
       bytes AS size_bytes, start_ns, end_ns, launch_ns
FROM nsys_task WHERE what IN ('copy', 'memset') AND sound;
INSERT INTO device_window BY NAME
SELECT getvariable('capture') AS capture, device_id, min(start_ns) FILTER (what IN ('copy', 'memset')) AS first_ns,
       max(end_ns) FILTER (what IN ('copy', 'memset')) AS last_ns
FROM nsys_task WHERE sound GROUP BY device_id;
