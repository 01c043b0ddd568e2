-- The tables of `msprof-analyze compare` for one capture, in its own definitions, so that a user can check us against it.
CREATE TABLE r_msprof (
    capture INTEGER NOT NULL,
    sheet VARCHAR NOT NULL,   -- OverallMetrics | KernelCompare | ApiCompare
    ord INTEGER NOT NULL,     -- order of the rows in the sheet
    depth INTEGER NOT NULL,
    name VARCHAR,             -- its label, without leading tabs
    group_key VARCHAR,        -- rows of communication groups: what they are matched by (r_collective; " (2)" for a second of equal members)
    input_shapes VARCHAR,     -- KernelCompare only
    total_ns DOUBLE,
    calls BIGINT              -- NULL where it prints "/"
);
