-- Makes trace_process: the name of each pid of the trace (Python, CANN, Ascend Hardware, Communication, Overlap Analysis, …), and its
-- device. The pid of a device is synthetic: host pid, position in the view and device, packed as bits (since 2024) or as decimal digits
-- (before). Newer traces also have a label such as "NPU 4". Also makes trace_thread: the names of threads.
-- Depends on text_device, trace_event.
CREATE OR REPLACE TEMP TABLE trace_process AS
WITH named AS (
    SELECT pid, max(args ->> 'name') FILTER (name = 'process_name') AS name, max(args ->> 'labels') FILTER (name = 'process_labels') AS label
    FROM trace_event WHERE ph = 'M' AND pid IS NOT NULL GROUP BY pid
), host AS (
    SELECT pid AS host_pid FROM named WHERE name = 'Python'
)
SELECT n.pid, CASE n.name WHEN 'HCCL' THEN 'Communication' ELSE n.name END AS name,
       CASE WHEN starts_with(n.label, 'NPU') THEN coalesce(
           text_device(n.label),
           max(n.pid & 31) FILTER ((n.pid >> 10) = host_pid),
           max(n.pid % 100) FILTER (n.pid // 10000 = host_pid)
       ) END AS device_id
FROM named AS n LEFT JOIN host ON TRUE GROUP BY n.pid, n.name, n.label;
CREATE OR REPLACE TEMP TABLE trace_thread AS
SELECT pid, tid, max(args ->> 'name') AS name FROM trace_event WHERE ph = 'M' AND name = 'thread_name' GROUP BY pid, tid;
