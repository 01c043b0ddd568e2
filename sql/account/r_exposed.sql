-- The pieces in which the device only communicates, with their collective. In captures without a device: in which the thread that runs the step
-- waits for one, or calls one.
-- Depends on account_activity, account_host, account_own, account_segment, account_track, account_window, capture,
-- collective, phase, place.
-- Nothing without account_track, account_window.
INSERT INTO r_exposed
SELECT t.capture, t.device_id, w.step, p.name, c.kind, c.group_name, c.group_ranks, c.dtype, c.start_ns, s.from_ns, s.until_ns
FROM account_segment AS s
JOIN account_own AS o ON o.part = s.part
JOIN account_window AS w ON w.frame = s.frame
JOIN account_track AS t ON t.track = w.track
JOIN collective AS c ON c.capture = t.capture AND c.id = o.id
LEFT JOIN phase AS p ON p.capture = c.capture AND p.id = c.phase
WHERE s.kind = 'comm'
UNION ALL
SELECT h.capture, h.device_id, h.step, p.name, coalesce(c.kind, h.subject, 'collective call'), c.group_name, c.group_ranks, c.dtype,
       coalesce(c.start_ns, h.from_ns), h.from_ns, h.until_ns
FROM (
    SELECT t.capture, t.device_id, w.step, a.name AS subject, h.from_ns, h.until_ns
    FROM account_host AS h JOIN account_activity AS a ON a.activity = h.activity AND a.kind = 'collective call'
    JOIN account_window AS w ON w.frame = h.frame
    JOIN account_track AS t ON t.track = w.track
    JOIN capture AS m ON m.capture = t.capture AND m.executor = 'host'
) AS h
ASOF LEFT JOIN collective AS c ON c.capture = h.capture AND c.kind = h.subject AND h.from_ns >= c.start_ns
ASOF LEFT JOIN place AS w ON w.capture = h.capture AND h.from_ns >= w.from_ns
LEFT JOIN phase AS p ON p.capture = w.capture AND p.id = w.phase;
