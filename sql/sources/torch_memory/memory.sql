-- A memory snapshot of `rlcompare run` (collect/profiler/torch_memory.py): the level after each change, and the allocations. On a GPU, the
-- level is that of the framework's pool, named PTA as on Ascend.
-- Variables: capture, memory_device (NULL: the host), memory_file, snapshot_bytes.
-- Depends on capture.
-- Run by name: for a snapshot of rlcompare run.
CREATE OR REPLACE TEMP TABLE memory_document AS
FROM read_json(getvariable('memory_file'), format = 'unstructured', hive_partitioning = FALSE, maximum_object_size = getvariable('snapshot_bytes'), columns = {
    timeline: 'STRUCT(ts_ns BIGINT, allocated_bytes BIGINT, reserved_bytes BIGINT)[]',
    allocations: 'STRUCT("name" VARCHAR, size_bytes BIGINT, alloc_ns BIGINT, release_ns BIGINT)[]'});
INSERT INTO memory
SELECT getvariable('capture'), getvariable('memory_device'), CASE WHEN getvariable('memory_device') IS NULL THEN 'CPU' ELSE 'PTA' END,
       level.ts_ns, level.allocated_bytes, level.reserved_bytes, NULL
FROM (SELECT unnest(timeline) AS level FROM memory_document)
WHERE level.ts_ns IS NOT NULL AND level.allocated_bytes >= 0;
INSERT INTO allocation
SELECT getvariable('capture'), getvariable('memory_device'), made.name, made.size_bytes, made.alloc_ns, made.release_ns, made.release_ns - made.alloc_ns
FROM (SELECT unnest(allocations) AS made FROM memory_document)
WHERE made.size_bytes > 0;
DROP TABLE memory_document;
-- A snapshot without a device is of the host's memory.
UPDATE capture SET executor = 'host' WHERE capture = getvariable('capture') AND getvariable('memory_device') IS NULL;
