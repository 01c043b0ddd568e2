-- Bandwidth of HCCS, PCIe, network ports (sys_interconnection, sys_io), and packets that were lost, damaged or sent again. The sources are
-- read as text (sqlite_all_varchar), because NUMERIC time stamps would arrive as DOUBLE.
-- Depends on src_HCCS, src_NETDEV_STATS, src_NIC, src_PCIE, src_ROCE.
-- Nothing without src_HCCS + src_NETDEV_STATS + src_NIC + src_PCIE + src_ROCE.
INSERT INTO counter
WITH port AS (
    SELECT capture, device_id, ts_ns, 'nic_' || coalesce(port, 0) AS link, * EXCLUDE (capture, device_id, ts_ns, port) FROM src_NIC
    UNION ALL BY NAME
    SELECT capture, device_id, ts_ns, 'roce_' || coalesce(port, 0) AS link, * EXCLUDE (capture, device_id, ts_ns, port) FROM src_ROCE
    UNION ALL BY NAME
    SELECT *, 'roce' AS link FROM src_NETDEV_STATS
    UNION ALL BY NAME
    SELECT *, 'hccs' AS link FROM src_HCCS
    UNION ALL BY NAME
    SELECT *, 'pcie' AS link FROM src_PCIE
)
SELECT capture, device_id, link || '_' || name, ts_ns, value
FROM (UNPIVOT port ON COLUMNS(* EXCLUDE (capture, device_id, ts_ns, link)) INTO NAME name VALUE value) WHERE ts_ns IS NOT NULL;
