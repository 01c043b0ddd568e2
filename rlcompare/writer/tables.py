"""The tables of ``ascend_pytorch_profiler_N.db`` and ``analysis.db``, as CANN and torch_npu declare them.

A database holds only tables with rows, plus the enumerations and the descriptions of the run.
"""

from __future__ import annotations

_COMMON = {
    "NPU_INFO": "id INTEGER,name TEXT",
    "SESSION_TIME_INFO": "startTimeNs INTEGER,endTimeNs INTEGER",
    "HOST_INFO": "hostUid TEXT,hostName TEXT",
    "META_DATA": "name TEXT,value TEXT",
    "STRING_IDS": "id INTEGER PRIMARY KEY,value TEXT",
    "RANK_DEVICE_MAP": "rankId INTEGER, deviceId INTEGER",
    "TASK": (
        "startNs INTEGER,endNs INTEGER,deviceId INTEGER,connectionId INTEGER,globalTaskId INTEGER,globalPid INTEGER,"
        "taskType INTEGER,contextId INTEGER,streamId INTEGER,taskId INTEGER,modelId INTEGER"
    ),
    "CANN_API": (
        "startNs INTEGER,endNs INTEGER,type INTEGER,globalTid INTEGER,connectionId INTEGER PRIMARY KEY,name INTEGER"
    ),
    "TASK_PMU_INFO": "globalTaskId INTEGER,name INTEGER,value NUMERIC",
    "HBM": "deviceId INTEGER,timestampNs INTEGER,bandwidth NUMERIC,hbmId INTEGER,type INTEGER",
    "LLC": ("deviceId INTEGER,llcId INTEGER,timestampNs INTEGER,hitRate REAL,throughput INTEGER,mode INTEGER"),
    "NPU_MEM": "type INTEGER,ddr NUMERIC,hbm NUMERIC,timestampNs INTEGER,deviceId INTEGER",
    "NPU_MODULE_MEM": "moduleId INTEGER,timestampNs INTEGER,totalReserved NUMERIC,deviceId INTEGER",
    "MSTX_EVENTS": (
        "startNs INTEGER,endNs INTEGER,eventType INTEGER,rangeId INTEGER,category INTEGER,message INTEGER,"
        "globalTid INTEGER,endGlobalTid INTEGER,domainId INTEGER,connectionId INTEGER"
    ),
    "GC_RECORD": "startNs INTEGER, endNs INTEGER, globalTid INTEGER",
    "STEP_TIME": "id INTEGER, startNs INTEGER, endNs INTEGER",
    "MEMORY_RECORD": (
        "component INTEGER, timestamp INTEGER, totalAllocated INTEGER, totalReserved INTEGER, totalActive INTEGER, "
        "streamPtr INTEGER, deviceId INTEGER"
    ),
    "OP_MEMORY": (
        "name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER, activeReleaseTime INTEGER, "
        "duration INTEGER, activeDuration INTEGER, allocationTotalAllocated INTEGER, allocationTotalReserved INTEGER, "
        "allocationTotalActive INTEGER, releaseTotalAllocated INTEGER, releaseTotalReserved INTEGER, "
        "releaseTotalActive INTEGER, streamPtr INTEGER, deviceId INTEGER"
    ),
    "PYTORCH_API": (
        "startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER, sequenceNumber INTEGER, "
        "fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER, callchainId INTEGER, type INTEGER"
    ),
    "CONNECTION_IDS": "id INTEGER, connectionId INTEGER",
    "PYTORCH_CALLCHAINS": "id INTEGER, stack INTEGER, stackDepth INTEGER",
}

_COMPUTE_HEAD = "name INTEGER,globalTaskId INTEGER PRIMARY KEY"
_COMPUTE_TAIL = (
    "taskType INTEGER,opType INTEGER,inputFormats INTEGER,inputDataTypes INTEGER,inputShapes INTEGER,"
    "outputFormats INTEGER,outputDataTypes INTEGER,outputShapes INTEGER,attrInfo INTEGER"
)
_COMMUNICATION_OP = (
    "opName INTEGER,startNs INTEGER,endNs INTEGER,connectionId INTEGER,groupName INTEGER,opId INTEGER PRIMARY KEY,"
    "relay INTEGER,retry INTEGER,dataType INTEGER,algType INTEGER,count NUMERIC,opType INTEGER"
)
_COMMUNICATION_TASK = (
    "name INTEGER,globalTaskId INTEGER,taskType INTEGER,planeId INTEGER,groupName INTEGER,notifyId INTEGER,"
    "rdmaType INTEGER,srcRank INTEGER,dstRank INTEGER,transportType INTEGER,size INTEGER,dataType INTEGER,"
    "linkType INTEGER,opId INTEGER"
)
_FREQUENCY = "deviceId INTEGER,timestampNs NUMERIC,freq INTEGER"

_SCHEMA_1_0 = {
    "COMPUTE_TASK_INFO": f"{_COMPUTE_HEAD},blockDim INTEGER,mixBlockDim INTEGER,{_COMPUTE_TAIL}",
    "COMMUNICATION_OP": _COMMUNICATION_OP,
    "COMMUNICATION_TASK_INFO": _COMMUNICATION_TASK,
    "AICORE_FREQ": _FREQUENCY,
}

_SCHEMA_1_2 = {
    "COMPUTE_TASK_INFO": (
        f"{_COMPUTE_HEAD},blockNum INTEGER,mixBlockNum INTEGER,{_COMPUTE_TAIL},opState INTEGER,hf32Eligible INTEGER,"
        "gridDim INTEGER,blockDim INTEGER"
    ),
    "COMMUNICATION_OP": f"{_COMMUNICATION_OP},deviceId INTEGER,rankSize INTEGER",
    "COMMUNICATION_TASK_INFO": f"{_COMMUNICATION_TASK},isMaster INTEGER,bandwidth NUMERIC",
    "COMMUNICATION_SCHEDULE_TASK_INFO": (
        "name INTEGER,globalTaskId INTEGER PRIMARY KEY,taskType INTEGER,opType INTEGER"
    ),
    "AICORE_FREQ": f"{_FREQUENCY},dieId INTEGER",
    "MEMCPY_INFO": "globalTaskId INTEGER PRIMARY KEY,size NUMERIC,memcpyOperation INTEGER",
    "OVERLAP_ANALYSIS": "id INTEGER,deviceId INTEGER,startNs INTEGER,endNs INTEGER,type INTEGER",
}

INDEXES = {
    "TASK": "CREATE INDEX TaskIndex ON TASK (startNs,globalTaskId)",
    "COMMUNICATION_TASK_INFO": "CREATE INDEX CommunicationTaskIndex ON COMMUNICATION_TASK_INFO (globalTaskId)",
}

MODULES = {0: "SLOG", 3: "HCCL", 7: "RUNTIME", 22: "DEVMM", 33: "APP", 36: "AICPU", 45: "GE"}
"""The modules that hold memory here, of CANN's 78."""

_UNSET = {65534: "N/A", 65535: "INVALID_TYPE"}
DATA_TYPES = {
    0: "INT8", 1: "INT16", 2: "INT32", 3: "FP16", 4: "FP32", 5: "INT64", 6: "UINT64", 7: "UINT8", 8: "UINT16",
    9: "UINT32", 10: "FP64", 11: "BFP16", 12: "INT128",
} | _UNSET  # fmt: skip
LINK_TYPES = {
    0: "ON_CHIP", 1: "HCCS", 2: "PCIE", 3: "ROCE", 4: "SIO", 5: "HCCS_SW", 6: "STANDARD_ROCE", 7: "RESERVED",
} | _UNSET  # fmt: skip
TRANSPORT_TYPES = {0: "SDMA", 1: "RDMA", 2: "LOCAL"} | _UNSET
_RDMA_TYPES = {
    0: "RDMA_SEND_NOTIFY", 1: "RDMA_SEND_PAYLOAD", 2: "RDMA_PAYLOAD_PREPARE", 3: "RDMA_PAYLOAD_CHECK",
    4: "RDMA_PAYLOAD_ACK", 5: "RDMA_SEND_OP",
} | _UNSET  # fmt: skip
_API_TYPES = {10000: "node", 15000: "model", 20000: "acl", 50001: "op", 50002: "queue", 50003: "trace", 50004: "mstx"}
_MEMCPY = {
    0: "host to host", 1: "host to device", 2: "device to host", 3: "device to device", 4: "managed memory",
    5: "addr device to device", 6: "host to device ex", 7: "device to host ex", 65535: "other",
}  # fmt: skip
_OVERLAP = {0: "COMPUTE", 1: "COMMUNICATION", 2: "COMM_NOT_OVERLAP_COMP", 3: "FREE"}
_ENUM_COLUMNS = "id INTEGER PRIMARY KEY,name TEXT"


def columns(schema: str) -> dict[str, str]:
    """Column definitions of the tables that a database of that schema can have, by table."""
    return _COMMON | (_SCHEMA_1_2 if schema == "1.2" else _SCHEMA_1_0)


def enumerations(schema: str) -> dict[str, dict[int, str]]:
    """The enumeration tables of that schema, with their rows."""
    newer = schema == "1.2"
    tables = {
        "ENUM_API_TYPE": {5000: "runtime", 5500: "communication" if newer else "hccl"} | _API_TYPES,
        "ENUM_HCCL_DATA_TYPE": DATA_TYPES,
        "ENUM_HCCL_LINK_TYPE": LINK_TYPES,
        "ENUM_HCCL_TRANSPORT_TYPE": TRANSPORT_TYPES,
        "ENUM_HCCL_RDMA_TYPE": _RDMA_TYPES,
        "ENUM_MODULE": MODULES,
        "ENUM_MSTX_EVENT_TYPE": {0: "marker", 1: "push/pop", 2: "start/end", 3: "marker_ex"},
    }
    if newer:
        tables |= {"ENUM_MEMCPY_OPERATION": _MEMCPY, "ENUM_OVERLAP_ANALYSIS_TYPE": _OVERLAP}
    return tables


def enumeration_columns() -> str:
    """Column definitions of every enumeration table."""
    return _ENUM_COLUMNS


def analysis_columns(names_devices: bool) -> dict[str, str]:
    """Column definitions of analysis.db."""
    times = (
        "step TEXT, computing NUMERIC, communication_not_overlapped NUMERIC, overlapped NUMERIC, "
        "communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC, "
        "communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC"
    )
    return {
        "StepTraceTime": f"deviceId INTEGER, {times}" if names_devices else times,
        "CommAnalyzerBandwidth": (
            "hccl_op_name TEXT, group_name TEXT, transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC, "
            "bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, count NUMERIC, "
            "total_duration NUMERIC, step TEXT, type TEXT"
        ),
        "CommAnalyzerMatrix": (
            "hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT, "
            "transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT, op_name TEXT"
        ),
        "CommAnalyzerTime": (
            "hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC, transit_time NUMERIC, "
            "wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC, step TEXT, type TEXT"
        ),
    }
