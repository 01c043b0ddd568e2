-- Twice as far back along the links; returns how many links changed.
-- Run by name: after trace_link, until nothing changes.
CREATE OR REPLACE TABLE trace_further AS
SELECT l.track, l.place, n.first, n.first <> l.first AS moved FROM trace_link AS l JOIN trace_link AS n ON n.track = l.track AND n.place = l.first;
CREATE OR REPLACE TABLE trace_link AS SELECT track, place, first FROM trace_further;
SELECT count(*) FROM trace_further WHERE moved;
