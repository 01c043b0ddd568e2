-- AI Core performance counters per kernel, in long form.
CREATE TABLE pmu (
    capture INTEGER NOT NULL,
    kernel_id BIGINT NOT NULL,
    name VARCHAR NOT NULL,    -- aic_mac_ratio, aiv_vec_time, …
    value DOUBLE              -- times in ns, ratios from 0 to 1
);
