-- Phases without overlaps, each in one step. If ranges overlap, the time counts for the range that started last. A range that crosses the
-- boundary of a step belongs to the step that contains most of it. In discrete mode the whole capture is one phase, given by its folder. It
-- lasts as long as its own mark, else as long as the profiler session.
-- Depends on capture, phase_range, phase_vocabulary, stage_phase, step.
-- Nothing without capture + phase_range.
INSERT INTO phase
WITH cut AS (
    SELECT capture, start_ns AS ts_ns FROM phase_range UNION SELECT capture, end_ns FROM phase_range
), piece AS (
    SELECT capture, ts_ns AS start_ns, lead(ts_ns) OVER (PARTITION BY capture ORDER BY ts_ns) AS end_ns FROM cut
), owned AS (
    SELECT p.capture, p.start_ns, p.end_ns, arg_max(r.call, {'start': r.start_ns, 'shorter': -r.end_ns, 'call': r.call}) AS call
    FROM piece AS p JOIN phase_range AS r ON r.capture = p.capture AND r.start_ns <= p.start_ns AND r.end_ns >= p.end_ns
    GROUP BY p.capture, p.start_ns, p.end_ns
), begun AS (
    SELECT *, CASE WHEN call IS DISTINCT FROM lag(call) OVER (PARTITION BY capture ORDER BY start_ns)
                     OR start_ns > lag(end_ns) OVER (PARTITION BY capture ORDER BY start_ns) THEN 1 ELSE 0 END AS begins FROM owned
), flat AS (
    SELECT capture, call, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM (SELECT *, sum(begins) OVER (PARTITION BY capture ORDER BY start_ns) AS island FROM begun) GROUP BY capture, island, call
), held AS (
    SELECT r.capture, r.call,
           arg_max(s.step, {'overlap': least(r.end_ns, s.end_ns) - greatest(r.start_ns, s.start_ns), 'earlier': -s.start_ns}) AS step
    FROM phase_range AS r JOIN step AS s ON s.capture = r.capture AND r.start_ns < s.end_ns AND r.end_ns > s.start_ns
    GROUP BY r.capture, r.call
)
SELECT f.capture, row_number() OVER (PARTITION BY f.capture ORDER BY f.start_ns) - 1, r.call, coalesce(held.step, whole.step), r.role, r.name,
       f.start_ns, f.end_ns, FALSE, r.by_user
FROM flat AS f JOIN phase_range AS r ON r.capture = f.capture AND r.call = f.call
LEFT JOIN held ON held.capture = f.capture AND held.call = f.call
LEFT JOIN step AS whole ON whole.capture = f.capture AND whole.inferred;
INSERT INTO phase
WITH mark AS (
    SELECT m.capture, v.name, min(m.start_ns) AS start_ns, max(m.end_ns) AS end_ns
    FROM stage_phase AS m JOIN phase_vocabulary AS v ON v.capture = m.capture AND v.mark = m.name GROUP BY m.capture, v.name
)
SELECT c.capture, 0, 0, s.step, c.role, c.phase,
       coalesce(m.start_ns, c.host_start_ns, 0), coalesce(m.end_ns, c.host_end_ns, c.host_start_ns, 0), TRUE, FALSE
FROM capture AS c LEFT JOIN step AS s ON s.capture = c.capture AND s.inferred
LEFT JOIN mark AS m ON m.capture = c.capture AND m.name = c.phase
WHERE c.phase IS NOT NULL;
