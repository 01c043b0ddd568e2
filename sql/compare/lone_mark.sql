-- The side that marks its steps, if the other one does not, although something of it is compared per step; `counted`: whether the number of the other
-- one's steps is known; `spanned`: whether the sides are compared by the span of the device.
-- Depends on c_api, c_operator, c_phase, c_step, c_time, spanned.
-- Nothing without c_time.
WITH marking AS (
    SELECT DISTINCT side FROM c_time WHERE step_ns IS NOT NULL
), timed AS (
    SELECT side FROM c_time WHERE coalesce(step_ns, device_span_ns, comm_ns) IS NOT NULL
    UNION SELECT side FROM c_phase UNION SELECT side FROM c_operator UNION SELECT side FROM c_api
)
SELECT m.side, (SELECT bool_and(s.is_one) FROM c_step AS s WHERE s.side <> m.side) AS counted, EXISTS (FROM spanned) AS spanned
FROM marking AS m WHERE (SELECT count(*) FROM marking) = 1 AND (SELECT count(*) FROM timed) = 2;
