-- The starts and ends of framework operators on each thread, in order of time. From each one to the next, `depth` operators are open; the
-- innermost is the one that started last at this depth. At one time, ends come first, then starts, the longer operator first. An operator
-- without a length is open at no time. Where the thread is unknown, so is the nesting. The windows run over sorted rows, for speed: DuckDB
-- streams them. They need no partition, because a thread ends as many operators as it starts. A view: its rows are read once, and never stored.
-- Depends on stage_host_op.
-- Runs after place.
CREATE OR REPLACE TEMP VIEW host_op_edge AS
WITH edge AS (
    SELECT capture, thread, start_ns AS ts_ns, end_ns, id FROM stage_host_op WHERE thread IS NOT NULL AND end_ns > start_ns
    UNION ALL SELECT capture, thread, end_ns, NULL, NULL FROM stage_host_op WHERE thread IS NOT NULL AND end_ns > start_ns
)
SELECT capture, thread, id, ts_ns AS from_ns, until_ns, CAST(2 * started - place AS INTEGER) AS depth, place
FROM (
    SELECT capture, thread, id, ts_ns, lead(ts_ns) OVER () AS until_ns, count(id) OVER (ROWS UNBOUNDED PRECEDING) AS started,
           row_number() OVER () AS place
    FROM (FROM edge ORDER BY capture, thread, ts_ns, end_ns DESC NULLS FIRST, id)
);
