-- The collectives of all ranks of a job that has several, by where they meet: by kind, group and ordinal in the step, a send with the receive of the
-- other member of a group of two. Groups are identified by their members, else by their name and the digits in the operators' names
-- ("hcom_allReduce__210_0_1"), which come from the group's hash: "Group 0 Communication" is another group in each process.
-- Depends on capture, job_step, r_collective, shared_job.
-- Nothing without capture, job_step, r_collective, shared_job.
CREATE OR REPLACE TEMP TABLE job_collective AS
WITH grouped AS (
    SELECT c.*, CASE WHEN c.group_key NOT LIKE 'group %' THEN string_split(c.group_key, ',') END AS ranks FROM r_collective AS c
)
SELECT j.job, c.capture, c.device_id, c.step, m.rank, c.kind, c.ordinal, c.start_ns, c.end_ns, c.group_name,
       coalesce(len(c.ranks), m.world_size) AS members,
       hash(CASE WHEN c.ranks IS NULL THEN concat_ws(' ', coalesce(c.group_name, c.group_key), regexp_extract(c.name, '__([0-9]{3})_', 1))
                 ELSE c.group_key END) AS group_id,   -- a list of a thousand members is slow to compare
       CASE WHEN c.kind = 'send' THEN 'from ' || m.rank
            WHEN c.kind = 'recv' THEN 'from ' || list_filter(c.ranks, lambda rank: rank <> CAST(m.rank AS VARCHAR))[1] ELSE c.kind END AS meeting
FROM grouped AS c JOIN capture AS m ON m.capture = c.capture JOIN job_step AS j ON j.capture = c.capture AND j.step IS NOT DISTINCT FROM c.step
WHERE c.start_ns IS NOT NULL AND c.end_ns IS NOT NULL AND (c.kind NOT IN ('send', 'recv', 'batch_send_recv') OR len(c.ranks) = 2)
  AND j.job IN (FROM shared_job);
