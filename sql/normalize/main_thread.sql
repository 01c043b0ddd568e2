-- The thread that runs the steps of each capture: the one on which most steps see their first framework operator. Other threads work for it:
-- autograd's runs the backward pass, and the task queue's launches what was enqueued.
-- Depends on stage_host_op, step.
-- Nothing without stage_host_op, step.
CREATE OR REPLACE TEMP TABLE main_thread AS
WITH begun AS (   -- without marks: the first operator of the capture
    SELECT DISTINCT capture, coalesce(start_ns, -9223372036854775807) AS from_ns FROM step
), operator AS (
    SELECT capture, thread, start_ns FROM stage_host_op WHERE thread IS NOT NULL
), first_operator AS (
    SELECT b.capture, b.from_ns, o.start_ns FROM begun AS b ASOF JOIN operator AS o ON o.capture = b.capture AND b.from_ns <= o.start_ns
), first_thread AS (
    SELECT f.capture, f.from_ns, min(o.thread) AS thread
    FROM first_operator AS f JOIN operator AS o ON o.capture = f.capture AND o.start_ns = f.start_ns GROUP BY f.capture, f.from_ns
)
SELECT capture, arg_max(thread, {'steps': steps, 'lowest': -CAST(thread AS HUGEINT)}) AS thread
FROM (SELECT capture, thread, count(*) AS steps FROM first_thread GROUP BY ALL) GROUP BY capture;
