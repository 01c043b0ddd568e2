-- The account by blocks, without exposed communication, whose pieces are the rows of r_exposed.
-- Depends on account_row, account_start, account_track, account_window.
INSERT INTO r_block BY NAME
SELECT t.capture, t.device_id, w.step, greatest(coalesce(r.block_ns, w.from_ns), w.from_ns) AS from_ns, r.phase, r.kind, r.subject, r.op_type,
       r.core_type, r.input_dtypes, r.host_op, r.ns, r.pieces
FROM account_row AS r JOIN account_track AS t ON t.track = r.track JOIN account_window AS w ON w.track = r.track AND w.until_ns = r.window_until_ns
WHERE r.track IN (SELECT track FROM account_start);
