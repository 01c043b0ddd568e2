-- Makes text_communication: the operators of communication.json, one row each. "hcom_allReduce__586_0_1@17522688603477080586" is an
-- operator's name and a hash of its group's name. The start is in microseconds (a float), other times are in milliseconds.
-- The profiler sums transfers of the plane that it considers slowest, and prints 0 if it finds none. Therefore 0 means unknown, not fast.
-- Its sizes are what moved over links, several times the size of the data.
-- Variables: text_communication.
-- Depends on text_length_of_ms_ns, text_step, text_time_ns.
-- Run by name: for its file.
CREATE OR REPLACE TEMP TABLE text_communication AS
WITH operator AS (
    SELECT text_step(step.key) AS step, op.key AS name, op.value -> 'Communication Time Info' AS times
    FROM json_each(getvariable('text_communication')::JSON) AS step, json_each(step.value) AS kind, json_each(kind.value) AS op
    WHERE op.key <> 'Total Op Info'
), measured AS (
    SELECT step, split_part(name, '@', 1) AS name, nullif(split_part(name, '@', 2), '') AS group_hash,
           text_time_ns(times ->> 'Start Timestamp(us)') AS start_ns, text_length_of_ms_ns(times ->> 'Elapse Time(ms)') AS length_ns,
           text_length_of_ms_ns(times ->> 'Transit Time(ms)') AS transit_ns, text_length_of_ms_ns(times ->> 'Wait Time(ms)') AS wait_ns
    FROM operator
)
SELECT step, name, group_hash, start_ns, start_ns + length_ns AS end_ns, CASE WHEN transit_ns > 0 THEN transit_ns END AS transit_ns,
       CASE WHEN transit_ns > 0 OR wait_ns > 0 THEN wait_ns END AS wait_ns
FROM measured;
