-- The account of each step. The run stage divides its communication (sql/store/waiting.sql).
-- Depends on account_label, account_row, account_track, account_window, r_exposed.
-- Nothing without account_label + r_exposed, account_row + r_exposed, account_track + r_exposed, account_window +
-- r_exposed.
INSERT INTO r_account BY NAME
SELECT t.capture, t.device_id, w.step, r.phase, b.* EXCLUDE label, r.ns, r.pieces
FROM (SELECT frame, phase, label, sum(ns) AS ns, sum(pieces) AS pieces FROM account_row GROUP BY ALL) AS r
JOIN account_label AS b ON b.label = r.label
JOIN account_window AS w ON w.frame = r.frame JOIN account_track AS t ON t.track = w.track;
INSERT INTO r_account BY NAME
SELECT capture, device_id, step, phase, 'comm' AS kind, kind AS subject, dtype AS input_dtypes, group_ranks, sum(until_ns - from_ns) AS ns,
       count(*) AS pieces
FROM r_exposed GROUP BY ALL;
