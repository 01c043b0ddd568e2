-- Phases, flat and each in one step: where ranges overlap the one that started last has the time; a range that reaches over a step's mark
-- belongs to the step that holds most of it. In discrete mode the whole capture is the folder's phase, which lasts as long as its own mark,
-- else as the profiler's session.
-- Variables: capture.
-- Depends on capture, phase_range, phase_vocabulary, stage_phase, step.
INSERT INTO phase
WITH cut AS (
    SELECT start_ns AS ts_ns FROM phase_range UNION SELECT end_ns FROM phase_range
), piece AS (
    SELECT ts_ns AS start_ns, lead(ts_ns) OVER (ORDER BY ts_ns) AS end_ns FROM cut
), owned AS (
    SELECT p.start_ns, p.end_ns, arg_max(r.call, {'start': r.start_ns, 'shorter': -r.end_ns, 'call': r.call}) AS call
    FROM piece AS p JOIN phase_range AS r ON r.start_ns <= p.start_ns AND r.end_ns >= p.end_ns
    GROUP BY p.start_ns, p.end_ns
), begun AS (
    SELECT *, CASE WHEN call IS DISTINCT FROM lag(call) OVER (ORDER BY start_ns)
                     OR start_ns > lag(end_ns) OVER (ORDER BY start_ns) THEN 1 ELSE 0 END AS begins FROM owned
), flat AS (
    SELECT call, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM (SELECT *, sum(begins) OVER (ORDER BY start_ns) AS island FROM begun) GROUP BY island, call
), held AS (
    SELECT r.call, arg_max(s.step, {'overlap': least(r.end_ns, s.end_ns) - greatest(r.start_ns, s.start_ns), 'earlier': -s.start_ns}) AS step
    FROM phase_range AS r JOIN step AS s ON s.capture = getvariable('capture') AND r.start_ns < s.end_ns AND r.end_ns > s.start_ns
    GROUP BY r.call
)
SELECT getvariable('capture'), row_number() OVER (ORDER BY f.start_ns) - 1, r.call, coalesce(held.step, whole.step), r.role, r.name,
       f.start_ns, f.end_ns, FALSE
FROM flat AS f JOIN phase_range AS r USING (call)
LEFT JOIN held USING (call)
LEFT JOIN step AS whole ON whole.capture = getvariable('capture') AND whole.inferred;
INSERT INTO phase
WITH mark AS (
    SELECT v.name, min(m.start_ns) AS start_ns, max(m.end_ns) AS end_ns
    FROM stage_phase AS m JOIN phase_vocabulary AS v ON v.mark = m.name GROUP BY v.name
)
SELECT c.capture, 0, 0, s.step, c.role, c.phase,
       coalesce(m.start_ns, c.host_start_ns, 0), coalesce(m.end_ns, c.host_end_ns, c.host_start_ns, 0), TRUE
FROM capture AS c LEFT JOIN step AS s ON s.capture = c.capture AND s.inferred LEFT JOIN mark AS m ON m.name = c.phase
WHERE c.capture = getvariable('capture') AND c.phase IS NOT NULL;
