-- Number of captures, ranks, replicas and selected steps of each run.
-- Depends on c_capture, c_step.
-- Nothing without c_capture.
SELECT c.side, c.run, count(DISTINCT c.capture) AS captures, count(DISTINCT c.member) FILTER (WHERE c.replica IS NULL) AS ranks,
       count(DISTINCT c.replica) AS replicas,
       count(DISTINCT s.step) FILTER (WHERE s.selected) AS steps
FROM c_capture AS c LEFT JOIN c_step AS s USING (side, run, capture) GROUP BY ALL ORDER BY side, run;
