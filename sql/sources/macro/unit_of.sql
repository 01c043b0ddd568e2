-- unit_of(counter): what a counter of AI Core tells of a kernel, by its name in Ascend profiles: `cube` (the part of the core's time in
-- which the cube unit computes; by type of number in ArithmeticUtilization, where they add up), `load` (in which data is loaded from memory),
-- `l2_hit` and `l2_miss` (accesses of the second-level cache). NULL: another counter. Those of vector cores (aiv_…) are left out, because
-- they are most of the rows, and bytes per second tell the same of their kernels. Older chips have one kind of core, and no prefix.
CREATE OR REPLACE TEMP MACRO unit_of(counter) AS CASE
    WHEN regexp_full_match(counter, '(aic_)?mac(_[a-z]+[0-9]+)?_ratio') THEN 'cube'
    WHEN regexp_full_match(counter, '(aic_)?mte2_ratio') THEN 'load'
    WHEN regexp_full_match(counter, '(aic_)?((write|r[0-9]_read)_cache_hit|(read|write)_local_l2_hit)') THEN 'l2_hit'
    WHEN regexp_full_match(counter, '(aic_)?((write|r[0-9]_read)_cache_miss_allocate|(read|write)_local_l2_miss)') THEN 'l2_miss' END;
