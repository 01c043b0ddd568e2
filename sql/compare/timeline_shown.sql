-- The timeline of each side that the report shows: of one member, and of the capture in which it is the nearest to the median. `steps` counts the steps of all runs of the side from which it is chosen. The member is
-- the one that is asked for, else the one of the new side on which the phase lasts longest on average; the baseline's is the same one,
-- unless the baseline does not have it.
-- Variables: member (NULL: none), phase (NULL: the whole step).
-- Depends on c_capture, c_timeline.
-- Nothing without c_capture, c_timeline.
WITH held AS (
    SELECT t.*, c.member FROM c_timeline AS t JOIN c_capture AS c ON c.side = t.side AND c.run = t.run AND c.capture = t.capture
    WHERE t.phase IS NOT DISTINCT FROM CAST(getvariable('phase') AS VARCHAR)
), of_member AS (
    SELECT side, member, sum(span_ns) / count(*) AS mean_ns, median(span_ns) AS median_ns, CAST(sum(steps) AS BIGINT) AS steps FROM held GROUP BY side, member
), of_new AS (
    SELECT member FROM of_member WHERE side = 'new'
    ORDER BY member IS NOT DISTINCT FROM CAST(getvariable('member') AS VARCHAR) DESC, mean_ns DESC, member LIMIT 1
), chosen AS (
    SELECT side, member, median_ns, steps FROM of_member
    QUALIFY row_number() OVER (PARTITION BY side ORDER BY member IN (FROM of_new) DESC, mean_ns DESC, member) = 1
)
SELECT h.side, h.run, h.capture, h.member, h.device_id, h.step, c.steps, h.calls, h.span_ns, h.bucket_ns
FROM held AS h JOIN chosen AS c ON c.side = h.side AND c.member = h.member
QUALIFY row_number() OVER (PARTITION BY h.side ORDER BY abs(h.span_ns - c.median_ns), h.run, h.capture) = 1
ORDER BY h.side;
