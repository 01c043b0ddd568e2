-- Ranges that are phases. Of nested marks on one thread, only the outermost counts. Marks of the same name that overlap, for example on two
-- tracks or threads, are merged into one range.
-- Depends on capture, phase_vocabulary, stage_host_op, stage_phase, user_phase.
-- Nothing without capture + user_phase, phase_vocabulary + user_phase, stage_host_op + stage_phase + user_phase.
CREATE OR REPLACE TEMP TABLE phase_range AS
WITH mark AS (
    SELECT m.capture, v.role, v.name, FALSE AS by_user, m.thread, m.start_ns, m.end_ns
    FROM (
        SELECT capture, name, thread, start_ns, end_ns FROM stage_phase
        UNION ALL SELECT capture, name, thread, start_ns, end_ns FROM stage_host_op
    ) AS m
    JOIN phase_vocabulary AS v ON v.capture = m.capture AND v.mark = m.name
    WHERE m.end_ns > m.start_ns AND m.capture IN (SELECT capture FROM capture WHERE phase IS NULL)
    UNION ALL
    SELECT capture, NULL, name, TRUE, NULL, start_ns, end_ns FROM user_phase
), outermost AS (
    SELECT * FROM mark
    QUALIFY coalesce(end_ns > max(end_ns) OVER (PARTITION BY capture, thread ORDER BY start_ns, end_ns DESC, name
                                                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), TRUE)
), opening AS (
    SELECT *, coalesce(start_ns >= max(end_ns) OVER (PARTITION BY capture, role, name ORDER BY start_ns, end_ns
                                                     ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), TRUE) AS opens
    FROM outermost
), numbered AS (
    SELECT *, sum(CASE WHEN opens THEN 1 ELSE 0 END) OVER (PARTITION BY capture, role, name ORDER BY start_ns, end_ns) AS island FROM opening
)
SELECT capture, row_number() OVER (PARTITION BY capture ORDER BY min(start_ns), name) - 1 AS call, role, name, any_value(by_user) AS by_user,
       min(start_ns) AS start_ns, max(end_ns) AS end_ns
FROM numbered GROUP BY capture, role, name, island;
