-- The account by blocks, without exposed communication, whose pieces are the rows of r_exposed; and the texts of its rows, which each capture numbers
-- by itself, in their order.
-- Depends on account_label, account_row, account_start, account_track, account_window.
-- Nothing without account_row, account_start, account_track, account_window.
CREATE OR REPLACE TEMP TABLE account_used AS
SELECT capture, label, row_number() OVER (PARTITION BY capture ORDER BY label) AS number
FROM (
    SELECT DISTINCT t.capture, r.label
    FROM (SELECT DISTINCT frame, label FROM account_row) AS r JOIN account_window AS w ON w.frame = r.frame JOIN account_track AS t ON t.track = w.track
    WHERE t.track IN (SELECT track FROM account_start)
);
INSERT INTO r_label BY NAME
SELECT u.capture, u.number AS label, b.* EXCLUDE label FROM account_used AS u JOIN account_label AS b ON b.label = u.label;
INSERT INTO r_block BY NAME
SELECT t.capture, t.device_id, w.step, greatest(coalesce(r.block_ns, w.from_ns), w.from_ns) AS from_ns, r.phase, u.number AS label, r.ns, r.pieces
FROM account_row AS r JOIN account_window AS w ON w.frame = r.frame JOIN account_track AS t ON t.track = w.track
JOIN account_used AS u ON u.capture = t.capture AND u.label = r.label
WHERE t.track IN (SELECT track FROM account_start);
