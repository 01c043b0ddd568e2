-- SQLite: an empty database with every table and column that is read, so that a missing one reads as NULL. rlcompare_capture is the number
-- of the capture if several databases were merged (rlcompare/sources/ascend/merge.py).
-- Run by name: by SQLite, once per capture.
CREATE TABLE STRING_IDS (rlcompare_capture INTEGER, id INTEGER, value TEXT);
CREATE TABLE TASK (rlcompare_capture INTEGER, startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER, taskType INTEGER, streamId INTEGER);
CREATE TABLE COMPUTE_TASK_INFO (rlcompare_capture INTEGER, name INTEGER, globalTaskId INTEGER, blockDim INTEGER, blockNum INTEGER, taskType INTEGER, opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER, outputFormats INTEGER, outputDataTypes INTEGER, outputShapes INTEGER);
CREATE TABLE COMMUNICATION_OP (rlcompare_capture INTEGER, opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER, opId INTEGER, dataType INTEGER, algType INTEGER, count NUMERIC, opType INTEGER, deviceId INTEGER);
CREATE TABLE COMMUNICATION_TASK_INFO (rlcompare_capture INTEGER, name INTEGER, globalTaskId INTEGER, taskType INTEGER, planeId INTEGER, srcRank INTEGER, dstRank INTEGER, transportType INTEGER, size INTEGER, linkType INTEGER, opId INTEGER);
CREATE TABLE CANN_API (rlcompare_capture INTEGER, startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER, name INTEGER);
CREATE TABLE PYTORCH_API (rlcompare_capture INTEGER, startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER, sequenceNumber INTEGER, inputDtypes INTEGER, inputShapes INTEGER, callchainId INTEGER, type INTEGER);
CREATE TABLE CONNECTION_IDS (rlcompare_capture INTEGER, id INTEGER, connectionId INTEGER);
CREATE TABLE PYTORCH_CALLCHAINS (rlcompare_capture INTEGER, id INTEGER, stack INTEGER, stackDepth INTEGER);
CREATE TABLE STEP_TIME (rlcompare_capture INTEGER, id INTEGER, startNs INTEGER, endNs INTEGER);
CREATE TABLE MEMORY_RECORD (rlcompare_capture INTEGER, component INTEGER, timestamp INTEGER, totalAllocated INTEGER, totalReserved INTEGER, totalActive INTEGER, deviceId INTEGER);
CREATE TABLE OP_MEMORY (rlcompare_capture INTEGER, name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER, duration INTEGER, deviceId INTEGER);
CREATE TABLE NPU_MODULE_MEM (rlcompare_capture INTEGER, moduleId INTEGER, timestampNs INTEGER, totalReserved NUMERIC, deviceId INTEGER);
CREATE TABLE NPU_MEM (rlcompare_capture INTEGER, type INTEGER, ddr NUMERIC, hbm NUMERIC, timestampNs INTEGER, deviceId INTEGER);
CREATE TABLE TASK_PMU_INFO (rlcompare_capture INTEGER, globalTaskId INTEGER, name INTEGER, value NUMERIC);
CREATE TABLE GC_RECORD (rlcompare_capture INTEGER, startNs INTEGER, endNs INTEGER, globalTid INTEGER);
CREATE TABLE MSTX_EVENTS (rlcompare_capture INTEGER, startNs INTEGER, endNs INTEGER, eventType INTEGER, message INTEGER, globalTid INTEGER, domainId INTEGER, connectionId INTEGER);
CREATE TABLE AICORE_FREQ (rlcompare_capture INTEGER, deviceId INTEGER, timestampNs NUMERIC, freq INTEGER);
CREATE TABLE HBM (rlcompare_capture INTEGER, deviceId INTEGER, timestampNs INTEGER, bandwidth NUMERIC, hbmId INTEGER, type INTEGER);
CREATE TABLE LLC (rlcompare_capture INTEGER, deviceId INTEGER, llcId INTEGER, timestampNs INTEGER, hitRate REAL, throughput INTEGER, mode INTEGER);
CREATE TABLE MEMCPY_INFO (rlcompare_capture INTEGER, globalTaskId INTEGER, size INTEGER, memcpyOperation INTEGER);
CREATE TABLE NPU_INFO (rlcompare_capture INTEGER, id INTEGER, name TEXT);
CREATE TABLE HOST_INFO (rlcompare_capture INTEGER, hostUid TEXT, hostName TEXT);
CREATE TABLE RANK_DEVICE_MAP (rlcompare_capture INTEGER, rankId INTEGER, deviceId INTEGER);
CREATE TABLE SESSION_TIME_INFO (rlcompare_capture INTEGER, startTimeNs INTEGER, endTimeNs INTEGER);
CREATE TABLE META_DATA (rlcompare_capture INTEGER, name TEXT, value TEXT);
CREATE TABLE ENUM_API_TYPE (rlcompare_capture INTEGER, id INTEGER, name TEXT);
CREATE TABLE ENUM_HCCL_DATA_TYPE (rlcompare_capture INTEGER, id INTEGER, name TEXT);
CREATE TABLE ENUM_HCCL_LINK_TYPE (rlcompare_capture INTEGER, id INTEGER, name TEXT);
CREATE TABLE ENUM_HCCL_TRANSPORT_TYPE (rlcompare_capture INTEGER, id INTEGER, name TEXT);
CREATE TABLE ENUM_MODULE (rlcompare_capture INTEGER, id INTEGER, name TEXT);
CREATE TABLE ENUM_MSTX_EVENT_TYPE (rlcompare_capture INTEGER, id INTEGER, name TEXT);
CREATE TABLE ENUM_MEMCPY_OPERATION (rlcompare_capture INTEGER, id INTEGER, name TEXT);
CREATE TABLE StepTraceTime (rlcompare_capture INTEGER, deviceId INTEGER, step TEXT, computing NUMERIC, communication_not_overlapped NUMERIC, overlapped NUMERIC, communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC, preparing NUMERIC);
CREATE TABLE CommAnalyzerMatrix (rlcompare_capture INTEGER, hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC, step TEXT, op_name TEXT);
