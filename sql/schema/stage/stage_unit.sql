-- Which part of a kernel's time the units of the cube cores worked, and how often the second-level cache held what it read or wrote: ratios
-- from 0 to 1, as the profiler counted them. Holds all captures of the batch; no row for kernels that were not counted.
-- Variables: capture.
CREATE TEMP TABLE stage_unit (
    capture INTEGER NOT NULL DEFAULT getvariable('capture'),
    kernel_id BIGINT NOT NULL,  -- stage_kernel.id
    cube DOUBLE,                -- the cube unit computed; NULL: not counted
    load DOUBLE,                -- data was loaded from memory (MTE2); NULL: not counted
    l2_hit DOUBLE               -- hits of the second-level cache; NULL: not counted
);
