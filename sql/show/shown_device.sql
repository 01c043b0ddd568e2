-- Times of each capture and step: those of the slowest device (the largest device span), which represents the rank (docs/design.md §4).
-- Depends on capture, r_time.
CREATE OR REPLACE TEMP TABLE shown_device AS
SELECT CASE WHEN c.replica IS NOT NULL AND c.rank IS NOT NULL THEN 'replica ' || c.replica || ' rank ' || c.rank
            WHEN c.replica IS NOT NULL THEN 'replica ' || c.replica
            WHEN c.rank IS NOT NULL THEN concat_ws(' ', CASE WHEN c.phase IS NULL THEN c.role END, 'rank ' || c.rank)
            ELSE 'unknown' END AS member,
       coalesce(c.replica, -1) AS replica, coalesce(c.rank, -1) AS rank, coalesce(c.role, '') AS role, coalesce(c.phase, '') AS folder, t.*
FROM r_time AS t JOIN capture AS c USING (capture)
QUALIFY row_number() OVER (
    PARTITION BY t.capture, t.step ORDER BY t.device_span_ns DESC NULLS LAST, t.comm_ns DESC NULLS LAST, t.device_id
) = 1;
