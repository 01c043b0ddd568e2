-- Per capture and device: values for msprof-analyze's end-to-end and SDMA rows that no other table holds.
CREATE TABLE device_window (
    capture INTEGER NOT NULL,       -- capture.capture
    device_id INTEGER,              -- device; NULL: unknown
    first_ns BIGINT,                -- earliest start of a task that is neither a kernel nor a profiler switch (text profiles: of the Overlap Analysis), in ns since the epoch
    last_ns BIGINT,                 -- latest end of the same tasks, in ns since the epoch
    sdma_ns BIGINT,                 -- time of SDMA and PCIe DMA tasks on the kernels' streams
    sdma_count BIGINT,              -- number of these tasks
    overlap_compute_ns BIGINT,      -- text only: sum of "Computing" of the Overlap Analysis; else NULL
    overlap_exposed_comm_ns BIGINT  -- text only: sum of "Communication(Not Overlapped)"; else NULL
);
