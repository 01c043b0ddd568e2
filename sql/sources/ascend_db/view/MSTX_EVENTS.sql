-- mstx marks and ranges on the host.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_ns.
CREATE OR REPLACE TEMP VIEW src_MSTX_EVENTS AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    sound_ns(TRY_CAST("startNs" AS BIGINT)) AS start_ns,
    sound_ns(TRY_CAST("endNs" AS BIGINT)) AS end_ns,
    TRY_CAST("eventType" AS BIGINT) AS event_type,
    TRY_CAST("message" AS BIGINT) AS message,
    TRY_CAST("globalTid" AS BIGINT) AS thread,
    TRY_CAST("domainId" AS BIGINT) AS domain,
    nullif(TRY_CAST("connectionId" AS BIGINT), 4294967295) AS connection_id
FROM (
    FROM stub_ascend_db.MSTX_EVENTS
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'MSTX_EVENTS')
);
