-- Per capture and device: what msprof-analyze's end-to-end and SDMA rows need and no other table keeps.
CREATE TABLE device_window (
    capture INTEGER NOT NULL,       -- capture.capture
    device_id INTEGER,              -- device; NULL: unknown
    first_ns BIGINT,                -- first start of tasks other than kernels and profiler switches (text: of the Overlap Analysis), in ns since the epoch
    last_ns BIGINT,                 -- last end of the same tasks, in ns since the epoch
    sdma_ns BIGINT,                 -- time of SDMA and PCIe DMA tasks on the kernels' streams
    sdma_count BIGINT,              -- number of these tasks
    overlap_compute_ns BIGINT,      -- text only: sum of "Computing" of the Overlap Analysis; else NULL
    overlap_exposed_comm_ns BIGINT  -- text only: sum of "Communication(Not Overlapped)"; else NULL
);
