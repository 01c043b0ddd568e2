-- Makes trace_task: tasks on a device (kernels, copies, memory sets), each with the call that launched it. A replayed graph launches many
-- kernels with one call. If a runtime call and a driver call have the same correlation, the first counts.
-- Variables: capture.
-- Depends on gpu_kernel_comm, host_api, profile_text, trace_event.
CREATE OR REPLACE TEMP TABLE trace_task AS
WITH launch AS (
    SELECT connection_id AS correlation, min(start_ns) AS launch_ns, arg_min(thread, start_ns) AS thread
    FROM host_api WHERE capture = getvariable('capture') AND connection_id IS NOT NULL GROUP BY connection_id
), task AS (
    SELECT id, cat, profile_text(name) AS name, start_ns, end_ns, TRY_CAST(args ->> 'device' AS INTEGER) AS device_id, TRY_CAST(args ->> 'stream' AS BIGINT) AS stream,
           TRY_CAST(args ->> 'correlation' AS BIGINT) AS correlation, TRY_CAST(coalesce(args ->> 'External id', args ->> 'external id') AS BIGINT) AS external_id,
           cat = 'kernel' AND gpu_kernel_comm(name) AS is_comm,
           args
    FROM trace_event WHERE cat IN ('kernel', 'gpu_memcpy', 'gpu_memset') AND sound
)
SELECT t.*, l.launch_ns, l.thread FROM task AS t LEFT JOIN launch AS l USING (correlation);
