-- The longest device tasks of one timeline of the attached store, by their start after its own.
-- Variables: capture, phase (NULL: the whole step).
-- Depends on r_timeline, r_timeline_event.
-- Nothing without r_timeline, r_timeline_event.
SELECT e.kind, coalesce(e.name, e.kind) AS name, e.start_ns - t.from_ns AS start_ns, e.end_ns - e.start_ns AS ns
FROM store.r_timeline_event AS e JOIN store.r_timeline AS t ON t.capture = e.capture AND t.phase IS NOT DISTINCT FROM e.phase
WHERE e.capture = getvariable('capture') AND e.phase IS NOT DISTINCT FROM CAST(getvariable('phase') AS VARCHAR)
ORDER BY e.start_ns, e.end_ns, e.kind, e.name;
