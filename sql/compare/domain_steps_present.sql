-- The steps of each member in the domains of which it has rows; all steps, where the rows are those of whole captures.
-- Depends on c_capture, c_domain_present, c_step.
-- Nothing without c_capture, c_domain_present, c_step.
INSERT INTO c_domain_steps
SELECT m.side, m.run, m.role, m.folder, m.member, p.domain, count(DISTINCT s.step) FILTER (WHERE s.selected OR p.whole)
FROM (SELECT c.side, c.run, c.role, c.folder, c.member, p.domain, bool_or(p.whole) AS whole
      FROM c_domain_present AS p JOIN c_capture AS c USING (side, run, capture) GROUP BY ALL) AS p
JOIN c_capture AS m USING (side, run, role, folder, member)
JOIN c_step AS s USING (side, run, capture)
GROUP BY ALL;
