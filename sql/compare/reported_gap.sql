-- Times that differ from the profiler's own by more than 1 us: the largest difference per side and kind of time.
-- Depends on c_reported.
-- Nothing without c_reported.
SELECT side, what, count(*) AS times, arg_max(step, abs(ours_ns - reported_ns)) AS step,
       arg_max(reported_ns, abs(ours_ns - reported_ns)) AS reported_ns, arg_max(ours_ns, abs(ours_ns - reported_ns)) AS ours_ns
FROM (FROM c_reported ORDER BY side, run, capture, step) WHERE abs(ours_ns - reported_ns) > 1000
GROUP BY ALL ORDER BY side, what;
