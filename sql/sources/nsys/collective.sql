-- Collectives: NCCL's kernels. Their names tell what they do; of those that tell nothing else than that they send and receive, the call of NCCL
-- around the launch does (domain NCCL of NVTX: ncclAllReduce, ncclSend, …), unless several were grouped. No export names the communicator.
-- Depends on nsys_task, nsys_mark, trace_collective.
INSERT INTO stage_collective BY NAME
WITH around AS (
    SELECT t.id, arg_max(m.name, m.start_ns) AS call
    FROM nsys_task AS t JOIN nsys_mark AS m ON m.thread = t.thread AND t.launch_ns BETWEEN m.start_ns AND m.end_ns
    WHERE t.is_comm AND t.sound AND m.kind = 'range' AND m.domain = 'NCCL'
    GROUP BY t.id
)
SELECT t.id, t.device_id, t.name, coalesce(trace_collective(a.call), trace_collective(t.name)) AS op_type, t.start_ns, t.end_ns, t.launch_ns
FROM nsys_task AS t LEFT JOIN around AS a USING (id)
WHERE t.is_comm AND t.sound;
