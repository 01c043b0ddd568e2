"""``msprof_*.db`` as CANN 8 writes it (schema 1.0), of what was asked for."""

from __future__ import annotations

import sqlite3

from recording import ACL_API, DATA_TYPES, METRICS, STAMP, TASK_TIME, Recording, Task

_TABLES = {
    "STRING_IDS": "id INTEGER PRIMARY KEY,value TEXT",
    "NPU_INFO": "id INTEGER,name TEXT",
    "SESSION_TIME_INFO": "startTimeNs INTEGER,endTimeNs INTEGER",
    "TASK": (
        "startNs INTEGER,endNs INTEGER,deviceId INTEGER,connectionId INTEGER,globalTaskId INTEGER,globalPid INTEGER,"
        "taskType INTEGER,contextId INTEGER,streamId INTEGER,taskId INTEGER,modelId INTEGER"
    ),
    "COMPUTE_TASK_INFO": (
        "name INTEGER,globalTaskId INTEGER PRIMARY KEY,blockDim INTEGER,mixBlockDim INTEGER,taskType INTEGER,"
        "opType INTEGER,inputFormats INTEGER,inputDataTypes INTEGER,inputShapes INTEGER,outputFormats INTEGER,"
        "outputDataTypes INTEGER,outputShapes INTEGER,attrInfo INTEGER"
    ),
    "COMMUNICATION_OP": (
        "opName INTEGER,startNs INTEGER,endNs INTEGER,connectionId INTEGER,groupName INTEGER,opId INTEGER PRIMARY KEY,"
        "relay INTEGER,retry INTEGER,dataType INTEGER,algType INTEGER,count NUMERIC,opType INTEGER"
    ),
    "CANN_API": (
        "startNs INTEGER,endNs INTEGER,type INTEGER,globalTid INTEGER,connectionId INTEGER PRIMARY KEY,name INTEGER"
    ),
    "TASK_PMU_INFO": "globalTaskId INTEGER,name INTEGER,value NUMERIC",
    "MSTX_EVENTS": (
        "startNs INTEGER,endNs INTEGER,eventType INTEGER,rangeId INTEGER,category INTEGER,message INTEGER,"
        "globalTid INTEGER,endGlobalTid INTEGER,domainId INTEGER,connectionId INTEGER"
    ),
    "ENUM_API_TYPE": "id INTEGER PRIMARY KEY,name TEXT",
    "ENUM_HCCL_DATA_TYPE": "id INTEGER PRIMARY KEY,name TEXT",
    "ENUM_MSTX_EVENT_TYPE": "id INTEGER PRIMARY KEY,name TEXT",
}
_ENUMERATIONS = {
    "ENUM_API_TYPE": {20000: "acl", 15000: "model", 10000: "node", 5500: "hccl", 5000: "runtime"},
    "ENUM_HCCL_DATA_TYPE": {
        0: "INT8", 1: "INT16", 2: "INT32", 3: "FP16", 4: "FP32", 5: "INT64", 6: "UINT64", 7: "UINT8", 8: "UINT16",
        9: "UINT32", 10: "FP64", 11: "BFP16",
    },
    "ENUM_MSTX_EVENT_TYPE": {0: "marker", 1: "push/pop", 2: "start/end", 3: "marker_ex"},
}  # fmt: skip
_NODE, _ACL = 10000, 20000
_MARKER, _RANGE = 0, 2
_NO_MODEL = 4294967295
PMU = {
    0: "aic_mac_fp16_ratio", 1: "aic_mac_ratio", 2: "aic_l1_read_bw(GB/s)", 3: "aic_l0a_read_bw(GB/s)",
    4: "aic_vec_bankgroup_cflt_ratio", 5: "aic_ub_read_bw_vector(GB/s)", 6: "aic_write_cache_hit",
    7: "aic_mac_ratio", 8: "aic_read_main_memory_datas(KB)",
}  # fmt: skip
"""One counter of each kind of AI Core metrics, by acl_prof.h's number of the kind."""


def write_db(recording: Recording) -> None:
    """Writes the database beside its place, and puts it there when it is whole."""
    partial = recording.folder / "msprof.part"
    partial.unlink(missing_ok=True)
    connection = sqlite3.connect(partial)
    for table, columns in _TABLES.items():
        connection.execute(f"CREATE TABLE {table} ({columns})")
    writer = _Writer(recording, connection)
    for task in recording.tasks:
        writer.task(task)
    writer.marks()
    writer.descriptions()
    for table in _TABLES:
        if not connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]:
            connection.execute(f"DROP TABLE {table}")
    connection.commit()
    connection.close()
    partial.replace(recording.folder / f"msprof_{STAMP}.db")


class _Writer:
    def __init__(self, recording: Recording, connection: sqlite3.Connection) -> None:
        self._recording, self._connection = recording, connection
        self._strings: dict[str, int] = {}

    def _id(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings) + 1)  # 0 is none to torch_npu

    def _insert(self, table: str, *values: object) -> None:
        self._connection.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(values))})", values)

    def task(self, task: Task) -> None:
        recording = self._recording
        thread = recording.process << 32 | task.thread
        self._insert("CANN_API", task.launch_start, task.launch_end, _NODE, thread, task.number, self._id("launch"))
        if recording.asks(ACL_API):
            number = len(recording.tasks) + task.number
            self._insert("CANN_API", task.launch_start, task.launch_end, _ACL, thread, number, self._id(task.api))
        kind = self._id(task.task_type)
        self._insert(
            "TASK", task.start, task.end, recording.device, task.number, task.number, recording.process, kind,
            _NO_MODEL, task.stream, task.number, _NO_MODEL,
        )  # fmt: skip
        if task.kind == "op":
            self._operator(task, kind)
        elif task.kind == "comm":
            self._insert(
                "COMMUNICATION_OP", self._id(task.name), task.start, task.end, task.number, self._id(task.group),
                task.number, 0, 0, task.data_type, self._id("RING"), task.count,
                self._id(f"hcom_{task.name.split('_')[1]}_"),
            )  # fmt: skip

    def _operator(self, task: Task, kind: int) -> None:
        described = self._recording.asks(TASK_TIME)
        sides = [
            (";".join("ND" for _ in shapes), ";".join(DATA_TYPES.get(name, "UNDEFINED") for name in types), shapes)
            for shapes, types in ((task.shapes[:-1], task.types[:-1]), (task.shapes[-1:], task.types[-1:]))
        ]
        texts = [text if described else "N/A" for side in sides for text in (side[0], side[1], ";".join(side[2]))]
        self._insert(
            "COMPUTE_TASK_INFO", self._id(task.name), task.number, 20, 0, kind, self._id(task.op_type),
            *map(self._id, texts), self._id(""),
        )  # fmt: skip
        if self._recording.asks(METRICS) and self._recording.metrics in PMU:
            self._insert("TASK_PMU_INFO", task.number, self._id(PMU[self._recording.metrics]), 0.5)

    def marks(self) -> None:
        for mark in self._recording.marks:
            thread = self._recording.process << 32 | mark.thread
            kind = _MARKER if mark.start == mark.end else _RANGE
            self._insert(
                "MSTX_EVENTS", mark.start, mark.end, kind, mark.range_id, _NO_MODEL, self._id(mark.message), thread,
                thread, self._id(mark.domain), _NO_MODEL,
            )  # fmt: skip

    def descriptions(self) -> None:
        recording = self._recording
        self._insert("NPU_INFO", recording.device, "Ascend910B3")
        times = [time for task in recording.tasks for time in (task.launch_start, task.end)]
        if times:
            self._insert("SESSION_TIME_INFO", min(times), max(times))
        for table, rows in _ENUMERATIONS.items():
            for row in rows.items():
                self._insert(table, *row)
        for text, number in self._strings.items():
            self._insert("STRING_IDS", number, text)
