-- The clock by which the profiler turned the cycles of AI Core into times: cycles of all cores / (time of one core × number of cores). It serves where
-- the frequency was not sampled, or trace_view.json is missing.
-- Variables: capture, text_device.
-- Depends on text_kernel.
INSERT INTO counter
SELECT getvariable('capture'), coalesce(getvariable('text_device'), device_id), 'aicore_clock_mhz', NULL, median(cycles / (aicore_us * block_num))
FROM text_kernel WHERE core_type = 'AI_CORE' AND aicore_us >= 20 AND cycles > 0 AND block_num > 0 GROUP BY ALL;
