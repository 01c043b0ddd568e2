-- Shortens long names and types of kernels, before they are copied into other tables; but none that may hold a secret: a part of it could no
-- longer be recognised (normalize/shorten does it).
-- Variables: most_long_text, suspicious.
-- Depends on bare_name, short_of, src_COMPUTE_TASK_INFO.
-- Run by name: after text or decoded_text, if there is much text.
CREATE OR REPLACE TEMP TABLE text_by_id AS
WITH used AS MATERIALIZED (
    SELECT DISTINCT capture, unnest([name, op_type]) AS id FROM src_COMPUTE_TASK_INFO
), long AS (   -- without the texts: the join would hold them all
    SELECT t.capture FROM (SELECT capture, id, strlen(value) AS size FROM text_by_id) AS t SEMI JOIN used AS u ON u.capture = t.capture AND u.id = t.id
    WHERE t.size > 128 GROUP BY t.capture HAVING sum(t.size) > getvariable('most_long_text')
), judged AS (
    SELECT * EXCLUDE is_short, length(value) > 128 AND capture IN (FROM long) AND (capture, id) IN (FROM used) AS is_long FROM text_by_id
), safe AS (
    SELECT *, CASE WHEN is_long THEN NOT regexp_matches(value, getvariable('suspicious')) ELSE FALSE END AS is_short FROM judged
), bared AS (   -- once: patterns take most of the time
    SELECT * REPLACE (CASE WHEN is_short THEN bare_name(value) ELSE value END AS value) FROM safe
)
SELECT * EXCLUDE is_long REPLACE (CASE WHEN is_short THEN short_of(value) ELSE value END AS value) FROM bared;
