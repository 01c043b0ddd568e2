-- Host start of the node-level launch by connection.
-- Depends on call.
-- Nothing without call.
-- Runs after forget_framework.
CREATE OR REPLACE TEMP TABLE launch AS
SELECT capture, connection_id, min(start_ns) AS launch_ns FROM call
WHERE type = 10000 AND connection_id IS NOT NULL GROUP BY ALL;
DROP TABLE call;
