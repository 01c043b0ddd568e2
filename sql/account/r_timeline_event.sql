-- The longest device tasks in each stretch of r_timeline.
-- Depends on account_track, collective, copy, kernel, placed, timeline_window.
-- Nothing without account_track, placed, timeline_window.
INSERT INTO r_timeline_event
WITH longest AS (
    SELECT w.capture, w.phase, p.what, p.id, p.start_ns, p.end_ns
    FROM timeline_window AS w JOIN account_track AS t ON t.track = w.track
    JOIN placed AS p ON p.capture = w.capture AND p.device_id IS NOT DISTINCT FROM w.device_id AND (t.step IS NULL OR p.step = t.step)
     AND p.start_ns < w.until_ns AND p.end_ns > w.from_ns
    QUALIFY row_number() OVER (PARTITION BY w.capture, w.phase ORDER BY p.end_ns - p.start_ns DESC, p.start_ns, p.what, p.id) <= 24
)
SELECT l.capture, l.phase, 'compute', left(coalesce(k.op_type, k.name), 200), l.start_ns, l.end_ns
FROM longest AS l JOIN kernel AS k ON k.capture = l.capture AND k.id = l.id WHERE l.what = 'kernel'
UNION ALL
SELECT l.capture, l.phase, 'comm', c.kind, l.start_ns, l.end_ns
FROM longest AS l JOIN collective AS c ON c.capture = l.capture AND c.id = l.id WHERE l.what = 'collective'
UNION ALL
SELECT l.capture, l.phase, 'copy', c.kind, l.start_ns, l.end_ns
FROM longest AS l JOIN copy AS c ON c.capture = l.capture AND c.id = l.id WHERE l.what = 'copy';
