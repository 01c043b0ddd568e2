-- Rows of PYTORCH_API that are used below: operators (50001), mstx ranges (50004) and, from the Python trace (50003), the calls of
-- nn.Module. Only the chosen steps are read. All rows come from one scan, because the table is the largest of all. SQLite filters the rows,
-- and reads only columns that exist and are needed. The ids are numbers, so no text of a profile becomes part of a query.
-- Times are TEXT. A missing column or a value of the wrong type is NULL. All values arrive as text, which takes long, so the usual type arrives as NULL.
-- Variables: from_ns, holes, keep_events, merged, until_ns.
-- Depends on capture_of, in_window, is_span, text_by_id.
SET VARIABLE framework_columns = (
    SELECT string_agg(CASE name WHEN 'type' THEN 'nullif(type, 50001) AS type' ELSE name END, ', ') FROM sqlite_query('profile_PYTORCH_API', 'SELECT name FROM pragma_table_info(''PYTORCH_API'')')
    WHERE name = 'rlcompare_capture' AND getvariable('merged') OR name IN ('startNs', 'endNs', 'globalTid', 'connectionId', 'name', 'type')
       OR getvariable('keep_events') AND name IN ('sequenceNumber', 'inputShapes', 'inputDtypes')
);
SET VARIABLE usual_type = CASE WHEN contains(getvariable('framework_columns'), ' AS type') THEN 50001 END;
SET VARIABLE is_module = (
    SELECT 'name BETWEEN ' || min(id) || ' AND ' || max(id) || ' AND name IN (' || string_agg(id, ', ') || ')' FROM text_by_id WHERE starts_with(value, 'nn.Module: ')
);
CREATE OR REPLACE TEMP TABLE framework AS
WITH listed AS (
    SELECT * FROM stub_ascend_db.PYTORCH_API
    UNION ALL BY NAME
    SELECT * FROM sqlite_query('profile_PYTORCH_API',
        'SELECT ' || getvariable('framework_columns') || ' FROM PYTORCH_API WHERE type = 50001 OR type = 50004 OR type = 50003 AND '
        || coalesce(getvariable('is_module'), 'FALSE'))
), typed AS (
    SELECT capture_of(rlcompare_capture) AS capture, TRY_CAST(startNs AS BIGINT) AS start_ns, TRY_CAST(endNs AS BIGINT) AS end_ns, TRY_CAST(globalTid AS BIGINT) AS thread,
           TRY_CAST(connectionId AS BIGINT) AS connection_id, TRY_CAST(name AS BIGINT) AS name,
           coalesce(TRY_CAST(type AS INTEGER), getvariable('usual_type')) AS type,
           CASE WHEN getvariable('keep_events') THEN nullif(TRY_CAST(sequenceNumber AS BIGINT), -1) END AS sequence_number,
           CASE WHEN getvariable('keep_events') THEN TRY_CAST(inputShapes AS BIGINT) END AS input_shapes,
           CASE WHEN getvariable('keep_events') THEN TRY_CAST(inputDtypes AS BIGINT) END AS input_dtypes
    FROM listed
)
SELECT row_number() OVER () AS id, *, is_span(start_ns, end_ns) AS sound FROM typed
WHERE in_window(start_ns)
  AND (NOT getvariable('merged') OR type <> 50003 OR (capture, name) IN (SELECT capture, id FROM text_by_id WHERE starts_with(value, 'nn.Module: ')));
-- If several captures are read, each numbers its own rows from 1.
UPDATE framework SET id = framework.id - first.before FROM (SELECT capture, min(id) - 1 AS before FROM framework GROUP BY capture) AS first
WHERE first.capture = framework.capture AND getvariable('merged');
