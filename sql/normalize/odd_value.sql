-- Removes values that no machine can have: clocks beyond 100 GHz, percentages beyond 100, bandwidths beyond 1 PB/s, sizes beyond 64 TiB, and any of
-- these below 0; and the profiler's sums without a count. Levels of memory below 0 have a finding of their own. The table odd_value keeps what was
-- removed, for the finding.
-- Depends on allocation, collective, copy, counter, link, memory, reported_api, reported_kernel_type.
-- Nothing without allocation + collective + copy + counter + link + memory + reported_api + reported_kernel_type.
CREATE OR REPLACE TEMP TABLE odd_value AS
WITH moved AS (
    SELECT capture, 'copies' AS what, rowid AS number, size_bytes, end_ns - start_ns AS ns FROM copy
    UNION ALL SELECT capture, 'collectives', rowid, size_bytes, end_ns - start_ns FROM collective
    UNION ALL SELECT capture, 'transfers', rowid, size_bytes, CASE WHEN transit_ns > 0 THEN transit_ns END FROM link
)
SELECT capture, 'counter' AS what, rowid AS number, name FROM counter
WHERE value NOT BETWEEN 0 AND CASE WHEN ends_with(name, '_percent') THEN 100 WHEN ends_with(name, '_mhz') THEN 100000 ELSE 1e15 END
UNION ALL
SELECT capture, 'allocation', rowid, 'sizes of allocations' FROM allocation WHERE size_bytes NOT BETWEEN 0 AND 70368744177664
UNION ALL
SELECT capture, 'memory', rowid, 'levels of memory' FROM memory WHERE greatest(allocated_bytes, reserved_bytes, active_bytes) > 70368744177664
UNION ALL
SELECT capture, what, number, 'sizes of ' || what FROM moved WHERE size_bytes NOT BETWEEN 0 AND least(70368744177664, CASE WHEN ns IS NOT NULL THEN 1e6 * greatest(ns, 1000) END)
UNION ALL
SELECT capture, 'kernel_type', rowid, 'counts of kernels' FROM reported_kernel_type WHERE calls IS NULL
UNION ALL
SELECT capture, 'api', rowid, 'counts of calls' FROM reported_api WHERE calls IS NULL;
DELETE FROM counter WHERE rowid IN (SELECT number FROM odd_value WHERE what = 'counter');
DELETE FROM allocation WHERE rowid IN (SELECT number FROM odd_value WHERE what = 'allocation');
DELETE FROM memory WHERE rowid IN (SELECT number FROM odd_value WHERE what = 'memory');
UPDATE copy SET size_bytes = NULL WHERE rowid IN (SELECT number FROM odd_value WHERE what = 'copies');
UPDATE collective SET size_bytes = NULL WHERE rowid IN (SELECT number FROM odd_value WHERE what = 'collectives');
UPDATE link SET size_bytes = NULL WHERE rowid IN (SELECT number FROM odd_value WHERE what = 'transfers');
DELETE FROM reported_kernel_type WHERE rowid IN (SELECT number FROM odd_value WHERE what = 'kernel_type');
DELETE FROM reported_api WHERE rowid IN (SELECT number FROM odd_value WHERE what = 'api');
