-- The account of each step. The run stage divides its communication (sql/store/waiting.sql).
-- Depends on account_row, account_track, account_window, r_exposed.
INSERT INTO r_account BY NAME
SELECT t.capture, t.device_id, w.step, r.phase, r.kind, r.subject, r.op_type, r.core_type, r.input_shapes, r.input_dtypes, r.host_op,
       sum(r.ns) AS ns, sum(r.pieces) AS pieces
FROM account_row AS r JOIN account_track AS t ON t.track = r.track JOIN account_window AS w ON w.track = r.track AND w.until_ns = r.window_until_ns
GROUP BY ALL;
INSERT INTO r_account BY NAME
SELECT capture, device_id, step, phase, 'comm' AS kind, kind AS subject, dtype AS input_dtypes, group_ranks, sum(until_ns - from_ns) AS ns,
       count(*) AS pieces
FROM r_exposed GROUP BY ALL;
