-- How late each rank starts collectives, defined as in a diff.
-- Depends on capture, late_of, r_collective, shown_device.
CREATE OR REPLACE TEMP VIEW shown_started AS
SELECT 'run' AS side, 0 AS run, d.member, d.role, d.folder, c.replica, c.ordinal AS place_in, d.step, l.kind, l.group_key, l.group_name,
       nullif(regexp_extract(l.name, '__([0-9]{3})_', 1), '') AS group_digits, l.ordinal, l.start_ns - coalesce(c.ahead_ns, 0) AS start_ns, l.end_ns - coalesce(c.ahead_ns, 0) AS end_ns
FROM r_collective AS l
JOIN shown_device AS d ON d.capture = l.capture AND d.step = l.step AND d.device_id IS NOT DISTINCT FROM l.device_id
JOIN capture AS c ON c.capture = l.capture;
CREATE OR REPLACE TEMP TABLE shown_late AS FROM late_of('shown_started');
