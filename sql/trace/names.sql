-- Metadata events as JSON: the names and the order of processes and lanes.
-- Depends on trace_lane.
-- Run by name: before the lines.
SELECT '{"ph":"M","name":"' || what || '","pid":' || pid || ',"tid":' || tid || ',"ts":0,"args":{' || args || '}}' AS line
FROM (
    SELECT DISTINCT pid, 0 AS tid, 0 AS place, 'process_name' AS what, '"name":' || CAST(to_json(side || ' ' || member) AS VARCHAR) AS args FROM trace_lane
    UNION ALL SELECT DISTINCT pid, 0, 1, 'process_sort_index', '"sort_index":' || pid FROM trace_lane
    UNION ALL
    SELECT pid, tid, 2, 'thread_name', '"name":' || CAST(to_json(lane || CASE WHEN number > 1 THEN ' (' || number || ')' ELSE '' END) AS VARCHAR) FROM trace_lane
    UNION ALL SELECT pid, tid, 3, 'thread_sort_index', '"sort_index":' || tid FROM trace_lane
) ORDER BY pid, tid, place;
