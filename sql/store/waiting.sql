-- Divides the time in which a device only communicates: `wait` until the last member of the collective has started (the subject is that rank),
-- then `transfer`; `comm` where that is unknown, or if members were not profiled. Running it again gives the same rows.
-- Depends on aligned, r_account, r_exposed.
-- Nothing without r_exposed.
CREATE OR REPLACE TEMP TABLE exposed AS   -- each piece, and the end of its waiting
SELECT e.*, a.last, a.last_ns, coalesce(a.is_whole, FALSE) AS is_whole, least(greatest(coalesce(a.last_ns, e.from_ns), e.from_ns), e.until_ns) AS cut_ns
FROM r_exposed AS e LEFT JOIN aligned AS a
  ON a.capture = e.capture AND a.device_id IS NOT DISTINCT FROM e.device_id AND a.kind = e.kind
 AND a.group_name IS NOT DISTINCT FROM e.group_name AND a.start_ns = e.start_ns;

CREATE OR REPLACE TEMP TABLE divided AS
SELECT capture, device_id, step, from_ns, phase, 'wait' AS kind, 'rank ' || last.rank AS subject, kind AS op_type, dtype, group_ranks, cut_ns - from_ns AS ns
FROM exposed WHERE cut_ns > from_ns
UNION ALL
SELECT capture, device_id, step, cut_ns, phase, CASE WHEN is_whole THEN 'transfer' ELSE 'comm' END, kind, NULL, dtype, group_ranks, until_ns - cut_ns
FROM exposed WHERE until_ns > cut_ns;

DELETE FROM r_account WHERE kind IN ('wait', 'transfer', 'comm') AND capture IN (SELECT capture FROM r_exposed);

INSERT INTO r_account BY NAME
SELECT capture, device_id, step, phase, kind, subject, op_type, dtype AS input_dtypes, group_ranks, sum(ns) AS ns, count(*) AS pieces
FROM divided GROUP BY ALL;
