-- Acknowledgements, the latest of each run.
-- Depends on history_ack, history_run.
SELECT r.number, arg_max_null(a.reason, a.made_ns) AS reason, arg_max_null(a.author, a.made_ns) AS author,
       arg_max_null(a.expires, a.made_ns) AS expires,
       max(a.made_ns) AS made_ns
FROM history_ack AS a JOIN history_run AS r USING (run)
GROUP BY r.number ORDER BY r.number;
