-- Communication operators; deviceId since schema 1.2; count is in elements, not bytes.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_ns.
CREATE OR REPLACE TEMP VIEW src_COMMUNICATION_OP AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("opName" AS BIGINT) AS name,
    sound_ns(TRY_CAST("startNs" AS BIGINT)) AS start_ns,
    sound_ns(TRY_CAST("endNs" AS BIGINT)) AS end_ns,
    nullif(TRY_CAST("connectionId" AS BIGINT), 4294967295) AS connection_id,
    TRY_CAST("groupName" AS BIGINT) AS group_name,
    TRY_CAST("opId" AS BIGINT) AS op_id,
    TRY_CAST("dataType" AS BIGINT) AS dtype,
    TRY_CAST("algType" AS BIGINT) AS algorithm,
    TRY_CAST("count" AS BIGINT) AS element_count,
    TRY_CAST("opType" AS BIGINT) AS op_type,
    TRY_CAST("deviceId" AS INTEGER) AS device_id
FROM (
    FROM stub_ascend_db.COMMUNICATION_OP
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'COMMUNICATION_OP')
);
