-- Ports of the network card: bytes per second, and packets since the device started.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_ns.
CREATE OR REPLACE TEMP VIEW src_NIC AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("deviceId" AS INTEGER) AS device_id,
    sound_ns(TRY_CAST("timestampNs" AS BIGINT)) AS ts_ns,
    TRY_CAST("rxByteRate" AS DOUBLE) AS rx_bytes_per_s,
    TRY_CAST("rxErrors" AS DOUBLE) AS rx_error_packets,
    TRY_CAST("rxDropped" AS DOUBLE) AS rx_dropped_packets,
    TRY_CAST("txByteRate" AS DOUBLE) AS tx_bytes_per_s,
    TRY_CAST("txErrors" AS DOUBLE) AS tx_error_packets,
    TRY_CAST("txDropped" AS DOUBLE) AS tx_dropped_packets,
    TRY_CAST("funcId" AS BIGINT) AS port
FROM (
    FROM stub_ascend_db.NIC
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'NIC')
);
