-- Packets that were sent again because no answer came in time, since the device started.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_ns.
CREATE OR REPLACE TEMP VIEW src_NETDEV_STATS AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("deviceId" AS INTEGER) AS device_id,
    sound_ns(TRY_CAST("timestampNs" AS BIGINT)) AS ts_ns,
    TRY_CAST("roceNewPktRty" AS DOUBLE) AS retried_packets
FROM (
    FROM stub_ascend_db.NETDEV_STATS
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'NETDEV_STATS')
);
