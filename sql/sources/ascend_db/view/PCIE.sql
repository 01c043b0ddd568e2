-- Bandwidth of PCIe, bytes per second: posted requests, such as writes, and others.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_ns.
CREATE OR REPLACE TEMP VIEW src_PCIE AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("deviceId" AS INTEGER) AS device_id,
    sound_ns(TRY_CAST("timestampNs" AS BIGINT)) AS ts_ns,
    TRY_CAST("txPostAvg" AS DOUBLE) AS tx_post_bytes_per_s,
    TRY_CAST("txNonpostAvg" AS DOUBLE) AS tx_nonpost_bytes_per_s,
    TRY_CAST("rxPostAvg" AS DOUBLE) AS rx_post_bytes_per_s,
    TRY_CAST("rxNonpostAvg" AS DOUBLE) AS rx_nonpost_bytes_per_s
FROM (
    FROM stub_ascend_db.PCIE
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'PCIE')
);
