-- Makes call: all rows of CANN_API, until host_api has taken them, because a second scan takes longer than a copy; and launch: the host start of
-- the node-level launch by connection.
-- Depends on src_CANN_API.
CREATE OR REPLACE TEMP TABLE call AS FROM src_CANN_API;
CREATE OR REPLACE TEMP TABLE launch AS
SELECT capture, connection_id, min(start_ns) AS launch_ns FROM call
WHERE type = 10000 AND connection_id IS NOT NULL GROUP BY ALL;
