-- The pieces in which the device only communicates, with their collective.
-- Depends on account_own, account_segment, account_track, account_window, collective, phase.
INSERT INTO r_exposed
SELECT t.capture, t.device_id, w.step, p.name, c.kind, c.group_name, c.group_ranks, c.dtype, c.start_ns, s.from_ns, s.until_ns
FROM account_segment AS s
JOIN account_own AS o ON o.track = s.track AND o.until_ns = s.part_until_ns AND o.what = 'collective'
JOIN account_track AS t ON t.track = s.track
JOIN account_window AS w ON w.track = s.track AND w.until_ns = s.window_until_ns
JOIN collective AS c ON c.capture = t.capture AND c.id = o.id
LEFT JOIN phase AS p ON p.capture = c.capture AND p.id = c.phase
WHERE s.kind = 'comm';
