-- The tables of `msprof-analyze compare` for each capture, by that tool's definitions, for comparison with its output.
CREATE TABLE r_msprof (
    capture INTEGER NOT NULL,  -- capture.capture
    sheet VARCHAR NOT NULL,    -- OverallMetrics | KernelCompare | ApiCompare
    ord INTEGER NOT NULL,      -- position of the row in the sheet
    depth INTEGER NOT NULL,    -- indentation of the row
    name VARCHAR,              -- label of the row
    group_key VARCHAR,         -- rows of communication groups: r_collective.group_key, with ' (2)' for a second group of the same members; other rows: NULL
    input_shapes VARCHAR,      -- KernelCompare only; else NULL
    total_ns DOUBLE,           -- time; NULL: none
    calls BIGINT               -- count; NULL if the tool prints '/'
);
