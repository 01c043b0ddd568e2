-- Collectives: NCCL's kernels. The name of a kernel gives its kind, unless the kernel does several things at once. The NCCL call (domain
-- NCCL of NVTX: ncclAllReduce, ncclSend, …) gives the kind too, and the size of the message. A call belongs to a kernel if it is the only
-- one that the thread made between the launch of its previous kernel and the launch of this one. Grouped calls are ignored. So is a call
-- that contradicts the kernel: it was made while a graph was captured. No export names the communicator.
-- Depends on nsys_mark, nsys_task, trace_collective.
INSERT INTO stage_collective BY NAME
WITH launched AS (
    SELECT id, thread, launch_ns, coalesce(lag(launch_ns) OVER (PARTITION BY thread ORDER BY launch_ns, start_ns), 0) AS previous_ns
    FROM nsys_task WHERE is_comm AND sound AND launch_ns IS NOT NULL
), call AS (
    SELECT l.id, any_value(m.name) AS name, any_value(m.message_bytes) AS message_bytes
    FROM launched AS l JOIN nsys_mark AS m ON m.thread = l.thread AND m.start_ns > l.previous_ns AND m.start_ns <= l.launch_ns
    WHERE m.kind = 'range' AND m.domain = 'NCCL' AND trace_collective(m.name) IS NOT NULL
    GROUP BY l.id HAVING count(*) = 1
), told AS (
    SELECT t.id, t.device_id, t.name, t.start_ns, t.end_ns, t.launch_ns, trace_collective(t.name) AS own, trace_collective(c.name) AS called, c.message_bytes
    FROM nsys_task AS t LEFT JOIN call AS c USING (id)
    WHERE t.is_comm AND t.sound
)
SELECT id, device_id, name, CASE WHEN agrees THEN called ELSE own END AS op_type, start_ns, end_ns, CASE WHEN agrees THEN message_bytes END AS size_bytes, launch_ns
FROM (SELECT *, called IS NOT NULL AND (own IS NULL OR own = called OR own = 'batchsendrecv') AS agrees FROM told);
