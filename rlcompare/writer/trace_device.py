"""The devices' rows of the trace: streams, collectives with their planes, overlap analysis, counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rlcompare.writer import counters
from rlcompare.writer.hardware import HardwareTask, hardware_tasks, launch_flows, trace_name, trace_type
from rlcompare.writer.model import UINT32_MAX, Capture, CollectiveTask, CopyTask, EventTask, KernelTask, PlaneTask
from rlcompare.writer.reported import overlap
from rlcompare.writer.spec import SampleRun
from rlcompare.writer.texts import time_us

Event = dict[str, Any]
"""An event as JSON."""

_Counter = tuple[counters.Sample, str, Mapping[str, float]]
"""A sample, its name in the trace, and its arguments there."""

HARDWARE_INDEX, COMMUNICATION_INDEX = 13, 15
_FREQUENCY_INDEX, _HBM_INDEX, _LLC_INDEX, _MEMORY_INDEX, _OVERLAP_INDEX = 14, 17, 18, 19, 23
_MIB = 1 << 20


def synthetic_pid(capture: Capture, index: int, device: int) -> int:
    """CANN's pid of a row: process, sort index and device in one number."""
    return capture.pid << 10 | index << 5 | device


def process_events(pid: int, name: str, label: str, index: int) -> Iterator[Event]:
    """Events that set the name and the position of a row in the trace."""
    for kind, args in (
        ("process_name", {"name": name}),
        ("process_labels", {"labels": label}),
        ("process_sort_index", {"sort_index": index}),
    ):
        yield {"ph": "M", "name": kind, "pid": pid, "tid": 0, "args": args}


def device_events(run: SampleRun, capture: Capture) -> Iterator[Event]:
    """All rows of all devices."""
    for device in capture.devices:
        label = f"NPU {device}" if run.names_devices else "NPU"
        yield from _hardware(run, capture, device, label)
        yield from _communication(run, capture, device, label)
        yield from _overlap(capture, device, label)
    yield from _counters(run, capture)


def thread_events(pid: int, tid: int, name: str) -> Iterator[Event]:
    """Events that set the name and the position of a thread in a row."""
    yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}
    yield {"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": tid}}


def _hardware(run: SampleRun, capture: Capture, device: int, label: str) -> Iterator[Event]:
    """A thread per stream. FFTS tasks that contain plane tasks are not shown."""
    pid = synthetic_pid(capture, HARDWARE_INDEX, device)
    yield from process_events(pid, "Ascend Hardware", label, HARDWARE_INDEX)
    tasks = [task for task in hardware_tasks(capture) if task.device == device]
    for stream in sorted({task.stream for task in tasks}):
        yield from thread_events(pid, stream, f"Stream {stream}")
    flows = launch_flows(capture)
    for task in tasks:
        hidden = isinstance(task.record, EventTask) and task.stream == 0 and not run.has_types
        if isinstance(task.record, CollectiveTask) or hidden:
            continue
        yield _task(pid, task)
        if isinstance(task.record, KernelTask | CopyTask):
            yield _flow_end(flows[task.connection], pid, task.stream, task.start_ns)


def _task(pid: int, task: HardwareTask) -> Event:
    return {
        "name": trace_name(task), "pid": pid, "tid": task.stream, "ts": time_us(task.start_ns),
        "dur": (task.end_ns - task.start_ns) / 1_000,
        "args": {
            "Model Id": UINT32_MAX, "Task Type": trace_type(task), "Physic Stream Id": task.stream,
            "Task Id": task.task_id, "Batch Id": 0, "Subtask Id": task.context, "connection_id": task.connection,
        },
        "ph": "X",
    }  # fmt: skip


def _flow_end(flow: str, pid: int, tid: int, start_ns: int) -> Event:
    return {
        "name": f"HostToDevice{flow}", "ph": "f", "id": flow, "ts": time_us(start_ns), "cat": "HostToDevice",
        "pid": pid, "tid": tid, "bp": "e",
    }  # fmt: skip


def _communication(run: SampleRun, capture: Capture, device: int, label: str) -> Iterator[Event]:
    """Thread 0 holds the collectives, the others the tasks of one plane each; at Level0 there are no tasks."""
    tasks = [task for task in capture.collectives if task.device == device]
    if not tasks:
        return
    pid = synthetic_pid(capture, COMMUNICATION_INDEX, device)
    yield from process_events(pid, "Communication" if run.newer else "HCCL", label, COMMUNICATION_INDEX)
    group = capture.group.name if run.newer else "0"
    yield from thread_events(pid, 0, f"Group {group} Communication")
    for plane in range(max(part.plane for task in tasks for part in task.tasks) + 1 if run.has_types else 1):
        yield from thread_events(pid, plane + 1, f"Plane {plane}")
    flows = launch_flows(capture)
    for task in tasks:
        yield _collective(pid, task)
        yield _flow_end(flows[task.connection], pid, 0, task.start_ns)
        if run.has_types:
            for context, part in enumerate(task.tasks):
                yield _plane_task(pid, task, part, context)


def _collective(pid: int, task: CollectiveTask) -> Event:
    return {
        "name": task.name, "pid": pid, "tid": 0, "ts": time_us(task.start_ns),
        "dur": (task.end_ns - task.start_ns) / 1_000,
        "args": {
            "connection_id": task.connection, "model id": UINT32_MAX, "data_type": task.dtype,
            "alg_type": "MESH-RING", "count": task.count,
        },
        "ph": "X",
    }  # fmt: skip


def _plane_task(pid: int, task: CollectiveTask, part: PlaneTask, context: int) -> Event:
    duration = part.end_ns - part.start_ns
    return {
        "name": part.name, "pid": pid, "tid": part.plane + 1, "ts": time_us(part.start_ns), "dur": duration / 1_000,
        "args": {
            "notify_id": str(2**64 - 1 if part.notify_id is None else part.notify_id),
            "duration estimated(us)": 1, "stream id": task.stream, "task id": task.task_id, "context id": context,
            "task type": part.name, "src rank": part.source,
            "dst rank": UINT32_MAX if part.target is None else part.target,
            "transport type": "LOCAL" if part.name == "Notify_Wait" else "SDMA", "size(Byte)": part.size_bytes,
            "data type": task.dtype if part.name == "Reduce_Inline" else "INVALID_TYPE",
            "link type": part.link or "INVALID_TYPE", "bandwidth(GB/s)": part.size_bytes / duration,
            "model id": UINT32_MAX,
        },
        "ph": "X",
    }  # fmt: skip


def _overlap(capture: Capture, device: int, label: str) -> Iterator[Event]:
    pid = synthetic_pid(capture, _OVERLAP_INDEX, device)
    yield from process_events(pid, "Overlap Analysis", label, _OVERLAP_INDEX)
    found = overlap(capture, device)
    rows = {
        "Computing": found.computing,
        "Communication": found.communication,
        "Communication(Not Overlapped)": found.uncovered,
        "Free": found.free,
    }
    for tid, (name, intervals) in enumerate(rows.items()):
        yield from thread_events(pid, tid, name)
        for start, end in intervals:
            yield {
                "name": name, "pid": pid, "tid": tid, "ts": time_us(start), "dur": (end - start) / 1_000, "ph": "X",
            }  # fmt: skip


def _counters(run: SampleRun, capture: Capture) -> Iterator[Event]:
    """Counter rows. Bandwidths are in MB/s and memory in KB here, in other units than in the database."""
    yield from _counter_row(
        run, capture, _FREQUENCY_INDEX, "AI Core Freq",
        [(s, "AI Core Freq", {"MHz": s.value}) for s in counters.frequency(capture)],
    )  # fmt: skip
    hbm = [(s, f"HBM {s.part}/{s.name.title()}", _rate(s.name.title(), s.value)) for s in counters.bandwidth(capture)]
    yield from _counter_row(run, capture, _HBM_INDEX, "HBM", hbm)
    cache: list[_Counter] = []
    for sample in counters.cache(capture):
        cache.append((sample, f"LLC {sample.part} Read/Throughput", _rate("Throughput", sample.value)))
        cache.append((sample, f"LLC {sample.part} Read/Hit Rate", {"Hit Rate(%)": counters.HIT_RATE}))
    yield from _counter_row(run, capture, _LLC_INDEX, "LLC", cache)
    if "memory" in run.contents:
        memory = [(s, "APP/HBM", {"KB": s.value / 1_024}) for s in counters.process_memory(capture)]
        yield from _counter_row(run, capture, _MEMORY_INDEX, "NPU MEM", memory)


def _rate(name: str, value: int) -> dict[str, float]:
    return {f"{name}(MB/s)": value / _MIB}


def _counter_row(
    run: SampleRun, capture: Capture, index: int, process: str, samples: Sequence[_Counter]
) -> Iterator[Event]:
    for device in capture.devices:
        label = f"NPU {device}" if run.names_devices else "NPU"
        yield from process_events(synthetic_pid(capture, index, device), process, label, index)
    for sample, name, args in samples:
        pid = synthetic_pid(capture, index, sample.device)
        yield {"name": name, "ts": time_us(sample.time_ns), "pid": pid, "tid": 0, "args": args, "ph": "C"}
