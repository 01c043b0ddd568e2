-- The starts and ends of framework operators on each thread, in order of time. From each one to the next, `depth` operators are open; the
-- innermost is the one that started last at this depth. At one time, ends come first, then starts, the longer operator first. An operator
-- without a length is open at no time. Where the thread is unknown, so is the nesting.
-- Depends on stage_host_op.
-- Runs after place.
CREATE OR REPLACE TEMP TABLE host_op_edge AS
WITH edge AS (
    SELECT capture, thread, id, 1 AS sign, start_ns AS ts_ns, end_ns FROM stage_host_op WHERE thread IS NOT NULL AND end_ns > start_ns
    UNION ALL SELECT capture, thread, NULL, -1, end_ns, NULL FROM stage_host_op WHERE thread IS NOT NULL AND end_ns > start_ns
)
SELECT capture, thread, id, ts_ns AS from_ns, lead(ts_ns) OVER thread AS until_ns, CAST(sum(sign) OVER thread AS INTEGER) AS depth,
       row_number() OVER thread AS place
FROM edge
WINDOW thread AS (PARTITION BY capture, thread ORDER BY ts_ns, sign, end_ns DESC, id ROWS UNBOUNDED PRECEDING);
