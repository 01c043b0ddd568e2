-- The framework operator behind each connection. If several operators share a connection, the one that starts last is the innermost.
-- Depends on framework, src_CONNECTION_IDS.
-- Nothing without framework, src_CONNECTION_IDS.
CREATE OR REPLACE TEMP TABLE host_op_by_connection AS
SELECT c.capture, c.connection_id, arg_max(f.id, f.start_ns) AS host_op_id, max(f.start_ns) AS host_op_ns
FROM src_CONNECTION_IDS AS c JOIN framework AS f ON f.capture = c.capture AND f.connection_id = c.id
WHERE f.type = 50001 AND f.sound AND c.connection_id IS NOT NULL
GROUP BY c.capture, c.connection_id;
