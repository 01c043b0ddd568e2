-- Host ranges of the profiler steps. Depends on src_STEP_TIME.
INSERT INTO step
SELECT getvariable('capture'), step, min(start_ns), max(end_ns), FALSE FROM src_STEP_TIME WHERE step IS NOT NULL GROUP BY step;
