-- Makes trace_group: the process groups that the trace's distributedInfo lists, by name.
-- Variables: trace_groups.
-- Depends on trace_ranks.
-- Run by name: before trace_event.
CREATE OR REPLACE TEMP TABLE trace_group AS
SELECT g.value ->> 'pg_name' AS name, any_value(trace_ranks(g.value ->> 'ranks')) AS ranks
FROM json_each(getvariable('trace_groups')::JSON) AS g WHERE (g.value ->> 'pg_name') IS NOT NULL GROUP BY 1;
