-- The time of each step that the account divides.
-- Depends on account_track, account_window.
-- Nothing without account_track, account_window.
INSERT INTO r_window
SELECT t.capture, t.device_id, w.step, w.from_ns, w.until_ns FROM account_window AS w JOIN account_track AS t ON t.track = w.track;
