-- The thread that runs the steps: the one on which most windows see their first framework operator. Other threads work for it: autograd's
-- runs the backward pass, and the task queue's launches what was enqueued.
-- Depends on account_track, account_window, host_op.
CREATE OR REPLACE TEMP TABLE account_thread AS
WITH begun AS (   -- without marks: the first operator of the capture
    SELECT DISTINCT t.capture, CASE WHEN t.step IS NULL THEN w.from_ns ELSE 0 END AS from_ns
    FROM account_window AS w JOIN account_track AS t ON t.track = w.track
), first_operator AS (
    SELECT b.capture, b.from_ns, o.start_ns FROM begun AS b ASOF JOIN host_op AS o ON o.capture = b.capture AND b.from_ns <= o.start_ns
), first_thread AS (
    SELECT f.capture, f.from_ns, min(o.thread) AS thread
    FROM first_operator AS f JOIN host_op AS o ON o.capture = f.capture AND o.start_ns = f.start_ns GROUP BY f.capture, f.from_ns
)
SELECT capture, arg_max(thread, {'windows': windows, 'lowest': -thread}) AS thread
FROM (SELECT capture, thread, count(*) AS windows FROM first_thread GROUP BY ALL) GROUP BY capture;
