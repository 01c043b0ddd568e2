-- The stretches of time of which a report can draw what the device did.
-- Depends on timeline_window.
-- Nothing without timeline_window.
INSERT INTO r_timeline BY NAME SELECT * EXCLUDE track FROM timeline_window;
