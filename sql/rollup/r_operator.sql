-- Framework operators by name. A call inside a call of the same name on the same thread adds nothing to the total times. If no operator
-- with a time stamp was read for a capture, the profiler's own totals are used; nested calls of one name cannot be told apart there.
-- Depends on host_op, operator_work, phase, reported_operator, step.
-- Nothing without host_op + reported_operator.
INSERT INTO r_operator BY NAME
WITH repeated AS (   -- names that may run inside themselves: one contains an operator, and one lies deeper
    SELECT row_number() OVER () AS number, capture, thread, name FROM host_op GROUP BY capture, thread, name
    HAVING min(CASE WHEN self_ns < end_ns - start_ns THEN depth END) < max(depth)
), inner_call AS (
    SELECT capture, id FROM host_op JOIN repeated USING (capture, thread, name)
    QUALIFY end_ns <= max(end_ns) OVER (PARTITION BY number ORDER BY start_ns, end_ns DESC
                                        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), call AS (
    SELECT o.capture, o.step, o.phase, o.name, o.end_ns - o.start_ns AS host_ns, o.self_ns, o.device_ns, o.device_self_ns, i.id IS NULL AS is_outermost,
           w.elements, w.flop
    FROM host_op AS o LEFT JOIN inner_call AS i ON i.capture = o.capture AND i.id = o.id
    LEFT JOIN operator_work AS w ON w.capture = o.capture AND w.name = o.name AND w.input_shapes = o.input_shapes
)
SELECT o.capture, o.step, p.name AS phase, o.name, count(*) AS calls, sum(o.host_ns) AS host_ns,
       CASE WHEN count(o.self_ns) = count(*) THEN coalesce(sum(o.host_ns) FILTER (o.is_outermost), 0) END AS host_total_ns,
       CASE WHEN count(o.self_ns) = count(*) THEN sum(o.self_ns) END AS host_self_ns,
       CASE WHEN count(o.device_ns) > 0 THEN coalesce(sum(o.device_ns) FILTER (o.is_outermost), 0) END AS device_total_ns,
       sum(o.device_self_ns) AS device_self_ns, min(o.host_ns) AS min_ns, max(o.host_ns) AS max_ns,
       CASE WHEN count(o.elements) = count(*) THEN sum(o.elements) END AS elements, CASE WHEN count(o.flop) = count(*) THEN sum(o.flop) END AS flop
FROM call AS o LEFT JOIN phase AS p ON p.capture = o.capture AND p.id = o.phase
GROUP BY o.capture, o.step, p.name, o.name;
INSERT INTO r_operator BY NAME
SELECT r.capture, s.step, r.name, r.calls, r.host_ns, r.host_ns AS host_total_ns, r.host_self_ns, r.device_ns AS device_total_ns, r.device_self_ns
FROM reported_operator AS r
LEFT JOIN (SELECT capture, min(step) AS step FROM step GROUP BY capture HAVING count(*) = 1) AS s ON s.capture = r.capture
WHERE r.capture NOT IN (SELECT capture FROM host_op);
