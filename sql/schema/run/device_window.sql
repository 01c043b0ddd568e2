-- Per capture and device: what msprof-analyze's end-to-end and SDMA rows need and no other table keeps.
CREATE TABLE device_window (
    capture INTEGER NOT NULL,
    device_id INTEGER,
    first_ns BIGINT,          -- first start over tasks that are neither kernels nor profiler switches; text: of the Overlap Analysis
    last_ns BIGINT,           -- last end over the same
    sdma_ns BIGINT,           -- SDMA and PCIe DMA tasks on the kernels' streams
    sdma_count BIGINT,
    overlap_compute_ns BIGINT,      -- text only: sum of "Computing" of the Overlap Analysis; NULL in a DB
    overlap_exposed_comm_ns BIGINT  -- text only: sum of "Communication(Not Overlapped)"
);
