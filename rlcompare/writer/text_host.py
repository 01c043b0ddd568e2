"""The CSV files of the host and the memory: operators, calls, allocations, memory levels."""

from __future__ import annotations

import statistics

from rlcompare.writer import counters
from rlcompare.writer.csv_file import Cells, CsvFile
from rlcompare.writer.db_host import ACTIVE_RELEASE_LEAD_NS, STREAM_POINTER
from rlcompare.writer.model import Allocation, Capture, CollectiveTask, CopyTask, HostOp
from rlcompare.writer.spec import SampleRun
from rlcompare.writer.texts import host_shapes, time_us

_MIB = 1 << 20


def operator_details(run: SampleRun, capture: Capture) -> CsvFile:
    """One row per operator call, with the device time of its own launches and of its inner operators."""
    header = [
        "Name", "Input Shapes", "Call Stack", "Host Self Duration(us)", "Host Total Duration(us)",
        "Device Self Duration(us)", "Device Total Duration(us)", "Device Self Duration With AICore(us)",
        "Device Total Duration With AICore(us)",
    ]  # fmt: skip
    rows: list[Cells] = []
    times = _device_times(capture)
    for op, children in _with_inner(capture.ops):
        own = _sum(times, [op])
        total = _sum(times, [op, *children])
        direct = [child for child in children if not _inside_other(child, children)]
        host = op.end_ns - op.start_ns
        self_ns = host - sum(child.end_ns - child.start_ns for child in direct)
        shapes = host_shapes(op).replace("\r\n", "\n") if "shapes" in run.contents else ""
        stack = ";\n".join(op.stack) if "stack" in run.contents else ""
        numbers = (self_ns, host, own[0], total[0], own[1], total[1])
        rows.append([op.name, shapes, stack, *(ns / 1_000 for ns in numbers)])
    return CsvFile("operator_details.csv", header, rows)


def _device_times(capture: Capture) -> dict[int, tuple[int, int]]:
    """By connection: device time of all tasks, and of those on AI Cores."""
    times: dict[int, tuple[int, int]] = {}
    for kernel in capture.kernels:
        duration = kernel.end_ns - kernel.start_ns
        on_core = duration if kernel.spec.core_type in ("AI_CORE", "AI_VECTOR_CORE") else 0
        times[kernel.connection] = (duration, on_core)
    others: list[CopyTask | CollectiveTask] = [*capture.copies, *capture.collectives]
    for task in others:
        times[task.connection] = (task.end_ns - task.start_ns, 0)
    return times


def _sum(times: dict[int, tuple[int, int]], ops: list[HostOp]) -> tuple[int, int]:
    found = [times[connection] for op in ops for connection in op.connections if connection in times]
    return sum(duration for duration, _ in found), sum(core for _, core in found)


def _with_inner(ops: list[HostOp]) -> list[tuple[HostOp, list[HostOp]]]:
    """Each operator with all operators inside it on its thread. Operators come before their inner operators."""
    result = []
    for position, op in enumerate(ops):
        inner = []
        for other in ops[position + 1 :]:
            if other.thread != op.thread or other.start_ns >= op.end_ns:
                break
            inner.append(other)
        result.append((op, inner))
    return result


def _inside_other(op: HostOp, ops: list[HostOp]) -> bool:
    return any(other is not op and other.start_ns <= op.start_ns and op.end_ns <= other.end_ns for other in ops)


def api_statistic(run: SampleRun, capture: Capture) -> CsvFile:
    """CANN's calls by layer and name; runtime calls from Level2 on."""
    found: dict[tuple[str, str], list[int]] = {}
    for call in capture.calls:
        if call.layer == "runtime" and run.level != "level2":
            continue
        layer = "hccl" if call.layer == "communication" and not run.newer else call.layer
        found.setdefault((layer, call.name), []).append(call.end_ns - call.start_ns)
    rows: list[Cells] = []
    for (layer, name), times in sorted(found.items()):
        micros = [time / 1_000 for time in times]
        cells: Cells = [
            layer, name, sum(times) / 1_000, len(times), round(statistics.fmean(micros), 3), min(micros), max(micros),
            round(statistics.pvariance(micros), 3),
        ]  # fmt: skip
        rows.append(["host", *cells] if run.names_devices else cells)
    header = ["Level", "API Name", "Time(us)", "Count", "Avg(us)", "Min(us)", "Max(us)", "Variance"]
    return CsvFile("api_statistic.csv", ["Device_id", *header] if run.names_devices else header, rows)


def operator_memory(run: SampleRun, capture: Capture) -> CsvFile:
    """One row per allocation: KB, microseconds, MB. Allocations that were not released have empty cells."""
    header = ["Name", "Size(KB)", "Allocation Time(us)", "Release Time(us)", "Active Release Time(us)", "Duration(us)",
              "Active Duration(us)"]  # fmt: skip
    for event in ("Allocation", "Release"):
        header += [f"{event} Total {kind}(MB)" for kind in ("Allocated", "Reserved", "Active")]
    header += ["Stream Ptr", "Device Type"]
    items = sorted(capture.allocations, key=lambda item: (item.alloc_ns, item.device))
    rows = [_allocation(item) for item in items]
    return CsvFile("operator_memory.csv", header, rows, crlf=not run.newer)


def _allocation(item: Allocation) -> Cells:
    release: Cells = [""] * 4
    totals: Cells = [""] * 3
    if item.release_ns is not None and item.release_allocated is not None and item.release_reserved is not None:
        active = item.release_ns - ACTIVE_RELEASE_LEAD_NS
        times = (item.release_ns, active, item.release_ns - item.alloc_ns, active - item.alloc_ns)
        release = [_tab(time) for time in times]
        totals = _levels(item.release_allocated, item.release_reserved)
    return [
        item.name, item.size_bytes / 1_024, _tab(item.alloc_ns), *release,
        *_levels(item.alloc_allocated, item.alloc_reserved), *totals, STREAM_POINTER, f"NPU:{item.device}",
    ]  # fmt: skip


def memory_record(run: SampleRun, capture: Capture) -> CsvFile:
    """Memory over time, in MB: the process (APP, reserved only), then PyTorch's allocator and its sum with GE's."""
    header = ["Component", "Timestamp(us)", "Total Allocated(MB)", "Total Reserved(MB)", "Total Active(MB)",
              "Stream Ptr", "Device Type"]  # fmt: skip
    rows: list[Cells] = [
        ["APP", _tab(sample.time_ns), "", sample.value / _MIB, "", "", f"NPU:{sample.device}"]
        for sample in counters.process_memory(capture)
    ]
    for level in sorted(capture.memory, key=lambda level: (level.time_ns, level.device)):
        for component in ("PTA", "PTA+GE"):
            totals = _levels(level.allocated, level.reserved)
            rows.append([component, _tab(level.time_ns), *totals, STREAM_POINTER, f"NPU:{level.device}"])
    return CsvFile("memory_record.csv", header, rows, crlf=not run.newer)


def npu_module_mem(run: SampleRun, capture: Capture) -> CsvFile:
    """Memory of CANN's modules over time, in MB."""
    header = ["Component", "Timestamp(us)", "Total Reserved(MB)", "Device"]
    rows: list[Cells] = []
    for sample in counters.module_memory(capture):
        cells: Cells = [sample.name, _tab(sample.time_ns), sample.value / _MIB, f"NPU:{sample.device}"]
        rows.append([sample.device, *cells] if run.names_devices else cells)
    return CsvFile("npu_module_mem.csv", ["Device_id", *header] if run.names_devices else header, rows)


def _levels(allocated: int, reserved: int) -> Cells:
    """Allocated, reserved and active memory in MB."""
    return [allocated / _MIB, reserved / _MIB, allocated / _MIB]


def _tab(ns: int) -> str:
    """A time in the profiler's format, with the TAB that keeps spreadsheets from rounding it."""
    return f"{time_us(ns)}\t"
