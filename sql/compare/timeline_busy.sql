-- Busy time by bucket and kind of one timeline of the attached store.
-- Variables: capture, phase (NULL: the whole step).
-- Depends on r_timeline_busy.
-- Nothing without r_timeline_busy.
SELECT kind, busy_ns FROM store.r_timeline_busy
WHERE capture = getvariable('capture') AND phase IS NOT DISTINCT FROM CAST(getvariable('phase') AS VARCHAR) ORDER BY kind;
