"""``mindstudio_profiler_output`` and ``analyze``: the trace and the tables that torch_npu makes its text files of."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from recording import ACL_API, DATA_TYPES, L2_CACHE, STAMP, SYS_INTERCONNECTION, SYS_IO, TASK_TIME, Recording, Task

_HOST, _DEVICE, _OVERLAP = 100, 200, 300
_COLUMNS = [
    "Device_id", "Model ID", "Task ID", "Stream ID", "Op Name", "OP Type", "OP State", "Op Mode", "Task Type",
    "Task Start Time(us)", "Task Duration(us)", "Task Wait Time(us)", "Block Num", "Mix Block Num", "HF32 Eligible",
    "Input Shapes", "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types", "Output Formats",
]  # fmt: skip


def write_text(recording: Recording) -> None:
    """Writes the trace first: torch_npu goes on as soon as there is a table."""
    folder = recording.folder / "mindstudio_profiler_output"
    folder.mkdir(exist_ok=True)
    (folder / f"msprof_{STAMP}.json").write_text(json.dumps(_trace(recording)))
    if recording.asks(L2_CACHE):
        rows = [[task.stream, task.number, 0.9, 0.1, task.name] for task in recording.tasks if task.kind == "op"]
        _write(folder, "l2_cache", ["Stream Id", "Task Id", "Hit Rate", "Victim Rate", "Op Name"], rows)
    for setting, names in ((SYS_IO, ("nic", "roce")), (SYS_INTERCONNECTION, ("pcie", "hccs"))):
        for name in names if setting in recording.settings else ():
            _write(folder, name, ["Device_id", "Timestamp(us)", "Bandwidth(MB/s)"], [[recording.device, "1.0", 0]])
    _write(folder, "npu_module_mem", ["Device_id", "Component", "Timestamp(us)", "Total Reserved(KB)", "Device"], [])
    if recording.asks(ACL_API):
        _statistics(recording, folder)
    columns = ["Device_id", "kernel_name", "kernel_type", "stream_id", "task_id", "task_time(us)"]
    rows = [
        [recording.device, t.name, t.task_type, t.stream, t.number, (t.end - t.start) / 1e3] for t in recording.tasks
    ]
    _write(folder, "task_time", columns, rows)
    operators = [_summary(recording, task) for task in recording.tasks if task.kind != "copy"]
    _write(folder, "op_summary", _COLUMNS, operators)


def _write(folder: Path, name: str, columns: list[str], rows: list[list]) -> None:
    with (folder / f"{name}_{STAMP}.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


def _summary(recording: Recording, task: Task) -> list:
    described = recording.asks(TASK_TIME) and task.kind == "op"
    types = [DATA_TYPES.get(name, "UNDEFINED") for name in task.types]
    texts = [
        f'"{";".join(task.shapes[:-1])}"', ";".join(types[:-1]), ";".join("ND" for _ in types[:-1]),
        f'"{";".join(task.shapes[-1:])}"', ";".join(types[-1:]), ";".join("ND" for _ in types[-1:]),
    ] if described else ["N/A"] * 6  # fmt: skip
    start = _us(task.start) + "\t"
    return [
        recording.device, 4294967295, task.number, task.stream, task.name, task.op_type, "N/A", "dynamic",
        task.task_type, start, (task.end - task.start) / 1e3, 0, 20, 0, "NO", *texts,
    ]  # fmt: skip


def _statistics(recording: Recording, folder: Path) -> None:
    by_type: dict[str, list[float]] = {}
    by_api: dict[str, list[float]] = {}
    for task in recording.tasks:
        by_api.setdefault(task.api, []).append((task.launch_end - task.launch_start) / 1e3)
        if task.kind == "op":
            by_type.setdefault(task.op_type, []).append((task.end - task.start) / 1e3)
    rows = [
        [recording.device, name, "AI_CORE", len(t), sum(t), min(t), sum(t) / len(t), max(t), 0]
        for name, t in by_type.items()
    ]
    columns = "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)"
    _write(folder, "op_statistic", columns.split(","), rows)
    rows = [["host", "acl", name, sum(t), len(t), sum(t) / len(t), min(t), max(t), 0] for name, t in by_api.items()]
    columns = "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance"
    _write(folder, "api_statistic", columns.split(","), rows)


def _trace(recording: Recording) -> list[dict]:
    label = f"NPU {recording.device}"
    lanes = {_HOST: ("CANN", "CPU"), _DEVICE: ("Ascend Hardware", label), _OVERLAP: ("Overlap Analysis", label)}
    events: list[dict] = []
    for lane, (name, labels) in lanes.items():
        events.append({"name": "process_name", "ph": "M", "pid": lane, "tid": 0, "args": {"name": name}})
        events.append({"name": "process_labels", "ph": "M", "pid": lane, "tid": 0, "args": {"labels": labels}})
    for task in recording.tasks:
        events += _events(task)
    return events


def _events(task: Task) -> list[dict]:
    launch = {"pid": _HOST, "tid": task.thread, "ts": _us((task.launch_start + task.launch_end) // 2)}
    ran = {"ts": _us(task.start), "dur": (task.end - task.start) / 1e3}
    flow = {"name": "HostToDevice", "cat": "HostToDevice", "id": str(task.number)}
    link = {"connection_id": task.number}
    at = {"pid": _DEVICE, "tid": task.stream}
    arguments = {"Model Id": 4294967295, "Task Type": task.task_type, "Stream Id": task.stream, "Task Id": task.number}
    events: list[dict] = [
        {"name": f"AscendCL@{task.api}", "ph": "X", "dur": 0.5, "args": {"Thread Id": task.thread} | link, **launch},
        {"ph": "s", **flow, **launch},
        {"ph": "f", "bp": "e", **flow, **at, "ts": ran["ts"]},
        {"name": task.name, "ph": "X", "args": arguments | link, **at, **ran},
    ]
    names = {"op": ["Computing"], "comm": ["Communication", "Communication(Not Overlapped)"], "copy": []}[task.kind]
    return events + [
        {"name": name, "ph": "X", "pid": _OVERLAP, "tid": number, **ran} for number, name in enumerate(names)
    ]


def write_communication(recording: Recording) -> None:
    """Collectives with their time and bandwidth, and who spoke to whom."""
    folder = recording.folder / "analyze"
    folder.mkdir(exist_ok=True)
    times, matrix = {}, {}
    for task in recording.tasks:
        if task.kind != "comm":
            continue
        name, ms, mb = f"{task.name}@{task.group}", (task.end - task.start) / 1e6, task.size / 2**20
        times[name] = {
            "Communication Time Info": {
                "Start Timestamp(us)": task.start / 1e3, "Elapse Time(ms)": ms, "Transit Time(ms)": ms,
                "Wait Time(ms)": 0, "Synchronization Time(ms)": 0, "Idle Time(ms)": 0, "Wait Time Ratio": 0,
                "Synchronization Time Ratio": 0,
            },
            "Communication Bandwidth Info": {
                "HCCS": {
                    "Transit Size(MB)": mb, "Transit Time(ms)": ms, "Bandwidth(GB/s)": mb / ms / 1.024,
                    "Large Packet Ratio": 0, "Size Distribution": {str(mb): [1, ms]},
                }
            },
        }  # fmt: skip
        link = {"Transport Type": "HCCS", "Transit Time(ms)": ms, "Transit Size(MB)": mb, "Bandwidth(GB/s)": mb / ms}
        matrix[name] = {f"{rank}-{(rank + 1) % task.ranks}": link for rank in range(task.ranks)}
    (folder / "communication.json").write_text(json.dumps(times))
    (folder / "communication_matrix.json").write_text(json.dumps(matrix))
