-- Per side and member: how late it starts aligned collectives, and how often it starts last.
-- Depends on c_capture, c_collective, c_several, late_of.
-- Nothing without c_capture, c_collective, c_several.
CREATE VIEW c_started AS
SELECT l.side, l.run, c.member, c.role, c.folder, c.replica, c.ordinal AS place_in, l.step, l.kind, l.group_key, l.group_name, l.group_digits,
       l.ordinal, l.start_ns - coalesce(c.ahead_ns, 0) AS start_ns, l.end_ns - coalesce(c.ahead_ns, 0) AS end_ns
FROM c_collective AS l JOIN c_capture AS c USING (side, run, capture) WHERE (c.side, c.role, c.folder) IN (FROM c_several);
CREATE TABLE c_late AS FROM late_of('c_started');
