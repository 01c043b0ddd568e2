-- AI Core performance counters per kernel, in long form.
CREATE TABLE pmu (
    capture INTEGER NOT NULL,   -- capture.capture
    kernel_id BIGINT NOT NULL,  -- kernel.id
    name VARCHAR NOT NULL,      -- aic_mac_ratio | aiv_vec_time | …
    value DOUBLE                -- value: times in ns, ratios from 0 to 1
);
