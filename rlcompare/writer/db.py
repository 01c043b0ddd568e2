"""Writes ``ascend_pytorch_profiler_N.db``: formats one capture as CANN and torch_npu do, and computes nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from rlcompare.writer import counters, texts
from rlcompare.writer.db_host import framework_tables
from rlcompare.writer.db_strings import Row, Strings
from rlcompare.writer.hardware import HardwareTask, ScheduleTask, db_type, hardware_tasks
from rlcompare.writer.info import host_name, host_uid, metadata_rows
from rlcompare.writer.model import UINT32_MAX, Capture, CollectiveTask, CopyTask, EventTask, KernelTask, PlaneTask
from rlcompare.writer.pmu import counters as pmu_counters
from rlcompare.writer.reported import overlap
from rlcompare.writer.spec import SampleRun
from rlcompare.writer.tables import INDEXES, columns, enumeration_columns, enumerations

_DATA_TYPES = {"FP32": 4, "BFP16": 11}
_MEMCPY_OPERATIONS = {"host_to_device": 1, "device_to_host": 2, "device_to_device": 3}
_LINKS = {"ON_CHIP": 0, "HCCS": 1}
_TASK_TABLES = (
    "TASK",
    "COMPUTE_TASK_INFO",
    "TASK_PMU_INFO",
    "COMMUNICATION_OP",
    "COMMUNICATION_TASK_INFO",
    "COMMUNICATION_SCHEDULE_TASK_INFO",
    "MEMCPY_INFO",
)
_NO_NOTIFY = 9223372036854775807
_UNAVAILABLE, _INVALID = 65534, 65535


def write_db(run: SampleRun, capture: Capture, path: Path) -> None:
    """Makes the database of one capture."""
    strings = Strings()
    tables = dict(_described(run, capture))
    if run.has_device_data:
        tables |= _device_tables(run, capture, strings)
        tables |= dict(_sampled(run, capture, strings))
    tables |= framework_tables(run, capture, strings)
    tables["STRING_IDS"] = strings.rows()
    con = sqlite3.connect(path)
    _create(con, run.schema, tables)
    con.commit()
    con.close()


def _create(con: sqlite3.Connection, schema: str, tables: dict[str, list[Row]]) -> None:
    for name, members in enumerations(schema).items():
        insert_table(con, name, enumeration_columns(), list(members.items()))
    for name, definition in columns(schema).items():
        if rows := tables.get(name):
            insert_table(con, name, definition, rows)
            if name in INDEXES:
                con.execute(INDEXES[name])


def insert_table(con: sqlite3.Connection, name: str, definition: str, rows: Sequence[Row]) -> None:
    """Creates a table and fills it. Names and definitions come from ``tables``, never from data."""
    con.execute(f"CREATE TABLE {name} ({definition})")
    con.executemany(f"INSERT INTO {name} VALUES ({','.join('?' * len(definition.split(',')))})", rows)  # noqa: S608


def _described(run: SampleRun, capture: Capture) -> Iterator[tuple[str, list[Row]]]:
    """The tables that describe the capture. Device -1 means that no device was profiled."""
    yield "SESSION_TIME_INFO", [(capture.start_ns, capture.end_ns)]
    yield "HOST_INFO", [(host_uid(capture), host_name())]
    yield "META_DATA", list(metadata_rows(run, capture))
    yield "RANK_DEVICE_MAP", [(capture.rank, device) for device in capture.devices]
    if run.has_device_data:
        yield "NPU_INFO", [(device, "Ascend910B") for device in capture.devices]
    else:
        yield "NPU_INFO", [(-1, "")]


def _device_tables(run: SampleRun, capture: Capture, strings: Strings) -> dict[str, list[Row]]:
    """TASK and its satellites. A task's global id is its position in time."""
    tables: dict[str, list[Row]] = {name: [] for name in _TASK_TABLES}
    ordinals = {id(task): ordinal for ordinal, task in enumerate(capture.collectives, 1)}
    for ident, task in enumerate(hardware_tasks(capture, scheduled=run.newer)):
        record = task.record
        if isinstance(record, EventTask) and record.stream == 0 and not run.has_types:
            continue
        tables["TASK"].append(_task_row(ident, task, capture, strings.cann(db_type(task, run.newer))))
        if isinstance(record, KernelTask):
            tables["COMPUTE_TASK_INFO"].append(_compute_row(run, ident, record, strings))
            tables["TASK_PMU_INFO"] += _pmu_rows(run, ident, record, capture.frequency_mhz, strings)
        elif isinstance(record, PlaneTask) and task.collective is not None:
            row = _plane_row(run, ident, record, task.collective, capture, ordinals[id(task.collective)], strings)
            tables["COMMUNICATION_TASK_INFO"].append(row)
        elif isinstance(record, ScheduleTask):
            name = strings.cann(f"{record.collective.kind}AicpuKernel")
            tables["COMMUNICATION_SCHEDULE_TASK_INFO"].append((name, ident, strings.cann("AI_CPU"), name))
        elif isinstance(record, CopyTask) and run.newer:
            tables["MEMCPY_INFO"].append((ident, record.size_bytes, _MEMCPY_OPERATIONS[record.kind]))
    for ordinal, collective in enumerate(capture.collectives, 1):
        tables["COMMUNICATION_OP"].append(_collective_row(run, ordinal, collective, capture, strings))
    return tables


def _task_row(ident: int, task: HardwareTask, capture: Capture, kind: int) -> Row:
    return (
        task.start_ns, task.end_ns, task.device, task.connection, ident, capture.pid, kind, task.context, task.stream,
        task.task_id, UINT32_MAX,
    )  # fmt: skip


def _compute_row(run: SampleRun, ident: int, task: KernelTask, strings: Strings) -> Row:
    """COMPUTE_TASK_INFO; at Level0 only the name is left."""
    spec, text, missing = task.spec, strings.cann, strings.cann(texts.NOT_AVAILABLE)
    if not run.has_types:
        row: Row = (text(spec.name), ident, 0, 0, *(missing,) * 9)
        return (*row, missing, missing, missing, missing) if run.newer else row
    row = (
        text(spec.name), ident, spec.block_num, spec.mix_block_num, text(spec.core_type), text(spec.op_type),
        text(texts.formats(spec.inputs, run.newer)), text(texts.dtypes(spec.inputs)), text(texts.shapes(spec.inputs)),
        text(texts.formats(spec.outputs, run.newer)), text(texts.dtypes(spec.outputs)),
        text(texts.shapes(spec.outputs)), missing,
    )  # fmt: skip
    if run.newer:
        return (*row, text("dynamic"), text("YES" if spec.core_type == "AI_CORE" else "NO"), missing, missing)
    return row


def _pmu_rows(run: SampleRun, ident: int, task: KernelTask, mhz: int, strings: Strings) -> list[Row]:
    values = pmu_counters(task, mhz) if run.has_types else None
    return [(ident, strings.cann(name), value) for name, value in (values or {}).items()]


def _collective_row(run: SampleRun, ordinal: int, task: CollectiveTask, capture: Capture, strings: Strings) -> Row:
    kind = task.op_type if run.has_types else texts.NOT_AVAILABLE
    row: Row = (
        strings.cann(task.name), task.start_ns, task.end_ns, task.connection, strings.cann(capture.group.name), ordinal,
        0, 0, _DATA_TYPES[task.dtype], strings.cann("MESH-RING"), task.count, strings.cann(kind),
    )  # fmt: skip
    return (*row, task.device, capture.group.size) if run.newer else row


def _plane_row(
    run: SampleRun, ident: int, part: PlaneTask, task: CollectiveTask, capture: Capture, ordinal: int, strings: Strings
) -> Row:
    """COMMUNICATION_TASK_INFO; at Level0 only its operator is left."""
    name, group = strings.cann(task.name), strings.cann(capture.group.name)
    if not run.has_types:
        missing = strings.cann(texts.NOT_AVAILABLE)
        row: Row = (
            name, ident, missing, UINT32_MAX, group, 0, _UNAVAILABLE, UINT32_MAX, UINT32_MAX, _UNAVAILABLE, -1,
            _UNAVAILABLE, _UNAVAILABLE, ordinal,
        )  # fmt: skip
        return (*row, 0, 0) if run.newer else row
    row = (
        name, ident, strings.cann(part.name), part.plane, group,
        _NO_NOTIFY if part.notify_id is None else part.notify_id, _INVALID, part.source,
        UINT32_MAX if part.target is None else part.target, 2 if part.name == "Notify_Wait" else 0, part.size_bytes,
        _DATA_TYPES[task.dtype] if part.name == "Reduce_Inline" else _INVALID,
        _INVALID if part.link is None else _LINKS[part.link], ordinal,
    )  # fmt: skip
    bandwidth = part.size_bytes * 1_000_000_000 // (part.end_ns - part.start_ns)
    return (*row, int(part.plane == 0), bandwidth) if run.newer else row


def _sampled(run: SampleRun, capture: Capture, strings: Strings) -> Iterator[tuple[str, list[Row]]]:
    die: Row = (0,) if run.newer else ()
    yield "AICORE_FREQ", [(s.device, s.time_ns, s.value, *die) for s in counters.frequency(capture)]
    yield (
        "HBM",
        [(s.device, s.time_ns, s.value, s.part, strings.cann(s.name)) for s in counters.bandwidth(capture)],
    )
    read, percent = strings.cann("read"), 100 * counters.HIT_RATE
    yield "LLC", [(s.device, s.part, s.time_ns, percent, s.value, read) for s in counters.cache(capture)]
    if "memory" in run.contents:
        app = strings.cann("app")
        yield "NPU_MEM", [(app, 0, s.value, s.time_ns, s.device) for s in counters.process_memory(capture)]
        yield "NPU_MODULE_MEM", [(s.part, s.time_ns, s.value, s.device) for s in counters.module_memory(capture)]
    if run.newer:
        yield "OVERLAP_ANALYSIS", list(_overlap_rows(capture))


def _overlap_rows(capture: Capture) -> Iterator[Row]:
    ident = 0
    for device in capture.devices:
        found = overlap(capture, device)
        for kind, intervals in enumerate((found.computing, found.communication, found.uncovered, found.free)):
            for start, end in intervals:
                yield ident, device, start, end, kind
                ident += 1
