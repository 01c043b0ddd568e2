-- A memory snapshot of torch itself (torch.cuda.memory._snapshot() as JSON): the level after each change, and the allocations. Levels are
-- counted back from those at the end, because the oldest events may be missing. An allocation ends at the next release of its address.
-- Variables: capture, memory_file, snapshot_bytes.
-- Run by name: for a snapshot of torch's own.
CREATE OR REPLACE TEMP TABLE memory_document AS
FROM read_json(getvariable('memory_file'), format = 'unstructured', hive_partitioning = FALSE, maximum_object_size = getvariable('snapshot_bytes'), columns = {
    device_traces: 'STRUCT("action" VARCHAR, addr UBIGINT, size BIGINT, time_us BIGINT, frames STRUCT("name" VARCHAR)[])[][]',
    segments: 'STRUCT(device INTEGER, total_size BIGINT, allocated_size BIGINT)[]'});
CREATE OR REPLACE TEMP TABLE memory_event AS
WITH of_device AS (
    SELECT unnest(device_traces) AS events, generate_subscripts(device_traces, 1) - 1 AS device_id FROM memory_document
)
SELECT device_id, unnest(events, max_depth := 1) AS event, generate_subscripts(events, 1) AS place FROM of_device;
INSERT INTO memory
WITH ending AS (
    SELECT segment.device AS device_id, sum(segment.allocated_size) AS allocated, sum(segment.total_size) AS reserved
    FROM (SELECT unnest(segments) AS segment FROM memory_document) GROUP BY device_id
), change AS (
    SELECT device_id, place, event.time_us * 1000 AS ts_ns,
           CASE event.action WHEN 'alloc' THEN event.size WHEN 'free_requested' THEN -event.size ELSE 0 END AS allocated,
           CASE WHEN event.action IN ('segment_alloc', 'segment_map') THEN event.size
                WHEN event.action IN ('segment_free', 'segment_unmap') THEN -event.size ELSE 0 END AS reserved
    FROM memory_event
)
SELECT getvariable('capture'), c.device_id, 'PTA', c.ts_ns,
       coalesce(e.allocated, 0) - coalesce(sum(c.allocated) OVER later, 0), coalesce(e.reserved, 0) - coalesce(sum(c.reserved) OVER later, 0), NULL
FROM change AS c LEFT JOIN ending AS e USING (device_id)
WHERE c.allocated <> 0 OR c.reserved <> 0
WINDOW later AS (PARTITION BY c.device_id ORDER BY c.place ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING);
INSERT INTO allocation
WITH paired AS (
    SELECT device_id, event, lead(event.action) OVER same AS next_action, lead(event.time_us) OVER same AS next_us
    FROM memory_event WHERE event.action IN ('alloc', 'free_requested')
    WINDOW same AS (PARTITION BY device_id, event.addr ORDER BY place)
)
SELECT getvariable('capture'), device_id, event.frames[1].name, event.size, event.time_us * 1000,
       CASE next_action WHEN 'free_requested' THEN next_us * 1000 END,
       CASE next_action WHEN 'free_requested' THEN (next_us - event.time_us) * 1000 END
FROM paired WHERE event.action = 'alloc' AND event.size > 0;
DROP TABLE memory_event;
DROP TABLE memory_document;
