-- The tables of `msprof-analyze compare` for one capture, in its own definitions, so that a user can check us against it.
CREATE TABLE r_msprof (
    capture INTEGER NOT NULL,  -- capture.capture
    sheet VARCHAR NOT NULL,    -- OverallMetrics | KernelCompare | ApiCompare
    ord INTEGER NOT NULL,      -- position of the row in the sheet
    depth INTEGER NOT NULL,    -- indentation of the row
    name VARCHAR,              -- label of the row
    group_key VARCHAR,         -- rows of communication groups: r_collective.group_key, ' (2)' added for a second group of the same members; else NULL
    input_shapes VARCHAR,      -- KernelCompare only; else NULL
    total_ns DOUBLE,           -- time; NULL: none
    calls BIGINT               -- number; NULL where the tool prints '/'
);
