-- Memory of the process and of the device.
-- Columns by name, so that unknown ones are ignored and absent ones are NULL. A value of the wrong type is NULL too.
-- Variables: sqlite_db.
-- Depends on capture_of, sound_ns, sound_size.
CREATE OR REPLACE TEMP VIEW src_NPU_MEM AS
SELECT
    capture_of("rlcompare_capture") AS capture,
    TRY_CAST("type" AS BIGINT) AS type,
    sound_size(TRY_CAST("ddr" AS BIGINT)) AS ddr_bytes,
    sound_size(TRY_CAST("hbm" AS BIGINT)) AS hbm_bytes,
    sound_ns(TRY_CAST("timestampNs" AS BIGINT)) AS ts_ns,
    TRY_CAST("deviceId" AS INTEGER) AS device_id
FROM (
    FROM stub_ascend_db.NPU_MEM
    UNION ALL BY NAME
    FROM sqlite_scan(getvariable('sqlite_db'), 'NPU_MEM')
);
