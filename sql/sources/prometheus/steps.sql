-- The number of steps whose time is known, the time that they cover, and how long a step usually is.
-- Depends on stage_step_time.
SELECT count(*), min(start_ns), max(end_ns), quantile_disc(end_ns - start_ns, 0.5) FROM stage_step_time;
