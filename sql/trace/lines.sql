-- The spans as JSON, one object a line, by start. Times are microseconds with three decimals. Both sides are aligned at the start of their step; what
-- began before moves both.
-- Depends on trace_lane, trace_link, trace_span, trace_start.
-- Run by name: after trace_lane.
WITH lead AS (
    SELECT greatest(max(a.start_ns - s.start_ns), 0) AS ns FROM trace_start AS a JOIN trace_span AS s ON s.side = a.side
), moved AS (
    SELECT l.pid, l.tid, s.name, s.kind, s.args, s.start_ns - a.start_ns + (SELECT ns FROM lead) AS ts, s.end_ns - s.start_ns AS dur
    FROM trace_span AS s JOIN trace_start AS a ON a.side = s.side
    JOIN trace_link AS k ON k.track = s.track AND k.place = s.place JOIN trace_lane AS l ON l.track = k.track AND l.first = k.first
)
SELECT '{"ph":"X","name":' || CAST(to_json(name) AS VARCHAR) || ',"cat":"' || kind || '","pid":' || pid || ',"tid":' || tid
       || ',"ts":' || ts // 1000 || '.' || lpad(CAST(ts % 1000 AS VARCHAR), 3, '0') || ',"dur":' || dur // 1000 || '.' || lpad(CAST(dur % 1000 AS VARCHAR), 3, '0')
       || ',"args":{' || args || '}}' AS line
FROM moved ORDER BY ts, dur DESC, pid, tid;
