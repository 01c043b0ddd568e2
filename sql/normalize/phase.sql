-- Phases are flat: of marks inside marks the outermost counts, and a mark that two tracks repeat counts once. In discrete mode the
-- whole capture is the folder's phase, which lasts as long as its own mark, else as the profiler's session. Depends on phase_vocabulary, stage_phase, stage_host_op, step, capture.
INSERT INTO phase
WITH mark AS (
    SELECT DISTINCT v.role, v.name, m.start_ns, m.end_ns
    FROM (FROM stage_phase UNION ALL SELECT name, start_ns, end_ns FROM stage_host_op) AS m
    JOIN phase_vocabulary AS v ON v.mark = m.name
    WHERE m.end_ns > m.start_ns
      AND (SELECT phase FROM capture WHERE capture = getvariable('capture')) IS NULL
), outermost AS (
    SELECT *, max(end_ns) OVER (ORDER BY start_ns, end_ns DESC, name ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_ns
    FROM mark
)
SELECT getvariable('capture'), row_number() OVER (ORDER BY m.start_ns, m.name) - 1, coalesce(s.step, whole.step), m.role, m.name,
       m.start_ns, m.end_ns, FALSE
FROM (FROM outermost WHERE covered_ns IS NULL OR end_ns > covered_ns) AS m
LEFT JOIN step AS s ON s.capture = getvariable('capture') AND m.start_ns >= s.start_ns AND m.start_ns < s.end_ns
LEFT JOIN step AS whole ON whole.capture = getvariable('capture') AND whole.inferred;
INSERT INTO phase
WITH mark AS (
    SELECT v.name, min(m.start_ns) AS start_ns, max(m.end_ns) AS end_ns
    FROM stage_phase AS m JOIN phase_vocabulary AS v ON v.mark = m.name GROUP BY v.name
)
SELECT c.capture, 0, s.step, c.role, c.phase,
       coalesce(m.start_ns, c.host_start_ns, 0), coalesce(m.end_ns, c.host_end_ns, c.host_start_ns, 0), TRUE
FROM capture AS c LEFT JOIN step AS s ON s.capture = c.capture AND s.inferred LEFT JOIN mark AS m ON m.name = c.phase
WHERE c.capture = getvariable('capture') AND c.phase IS NOT NULL;
