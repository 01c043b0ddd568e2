"""trace_view.json: a bare list of Chrome trace events, with ``ts`` as strings of microseconds.

Rows that torch_npu adds come first (operators, task queue, Python), then CANN's (calls, devices, overlap, counters),
then the flows from operators to devices. Pids of CANN's rows are made from the process id, a sort index and the device.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rlcompare.writer.hardware import launch_flows
from rlcompare.writer.model import Capture, HostOp
from rlcompare.writer.spec import SampleRun
from rlcompare.writer.texts import host_dtypes, host_shapes, time_us
from rlcompare.writer.trace_device import (
    COMMUNICATION_INDEX,
    HARDWARE_INDEX,
    Event,
    device_events,
    process_events,
    synthetic_pid,
    thread_events,
)

_CANN_INDEX, _MSTX_INDEX = 7, 2
_LAYER_NAMES = {"acl": "AscendCL", "node": "Node", "runtime": "Runtime", "communication": "HCCL"}


def trace_view(run: SampleRun, capture: Capture) -> list[Event]:
    """All events of the trace."""
    events: list[Event] = []
    framework = "cpu" in run.contents and run.level != "level_none"
    if framework:
        events += _framework(run, capture)
    events += _marks(capture)
    if run.has_device_data:
        if run.has_types:
            events += _calls(run, capture)
        events += device_events(run, capture)
        if framework:
            events += _launches(capture)
    return events


def _framework(run: SampleRun, capture: Capture) -> Iterator[Event]:
    for op in capture.ops:
        yield _operator(run, capture, op)
    for step in capture.steps:
        yield {
            "ph": "X", "name": f"ProfilerStep#{step.number}", "pid": capture.pid, "tid": capture.main_thread,
            "ts": time_us(step.start_ns), "dur": (step.end_ns - step.start_ns) / 1_000, "cat": "cpu_op",
            "args": {"Sequence number": -1, "Fwd thread id": 0},
        }  # fmt: skip
    yield from _queue(capture)
    yield from _threads(capture)
    yield from _pairs(capture)
    if {"module", "stack"} & set(run.contents):
        for call in capture.python:
            yield {
                "ph": "X", "name": call.name, "pid": capture.pid, "tid": call.thread, "ts": time_us(call.start_ns),
                "dur": (call.end_ns - call.start_ns) / 1_000, "cat": "python_function",
                "args": {"Python id": call.ident, "Python parent id": call.parent},
            }  # fmt: skip


def _operator(run: SampleRun, capture: Capture, op: HostOp) -> Event:
    args: Event = {"Sequence number": op.sequence, "Fwd thread id": op.forward_thread}
    if op.inputs and "shapes" in run.contents:
        args |= {"Input Dims": host_shapes(op), "Input type": host_dtypes(op)}
    if op.stack and "stack" in run.contents:
        args |= {"Call stack": ";\r\n".join(op.stack)}
    return {
        "ph": "X", "name": op.name, "pid": capture.pid, "tid": op.thread, "ts": time_us(op.start_ns),
        "dur": (op.end_ns - op.start_ns) / 1_000, "cat": "cpu_op", "args": args,
    }  # fmt: skip


def _queue(capture: Capture) -> Iterator[Event]:
    """Enqueues, then dequeues, each followed by its end of the flow between the two."""
    for category, phase in (("enqueue", "s"), ("dequeue", "f")):
        for call in capture.queue:
            if call.name.lower().startswith(category):
                place: Event = {"pid": capture.pid, "tid": call.thread, "ts": time_us(call.start_ns)}
                yield {
                    "ph": "X", "name": call.name, **place, "dur": (call.end_ns - call.start_ns) / 1_000,
                    "cat": category, "args": {"correlation_id": call.correlation},
                }  # fmt: skip
                yield {
                    "ph": phase, "bp": "e", "name": "enqueue_to_dequeue", "id": call.correlation, **place,
                    "cat": "async_task_queue",
                }  # fmt: skip


def _threads(capture: Capture) -> Iterator[Event]:
    yield from process_events(capture.pid, "Python", "CPU", 0)
    for thread in (capture.main_thread, capture.autograd_thread, capture.queue_thread):
        yield from thread_events(capture.pid, thread, f"Thread {thread}")


def _pairs(capture: Capture) -> Iterator[Event]:
    """Flows from forward operators to their backward operators."""
    counts = Counter(op.pair for op in capture.ops)
    for op in capture.ops:
        if op.pair is not None and counts[op.pair] > 1:
            yield {
                "ph": "f" if op.forward_thread else "s", "bp": "e", "name": "fwdbwd", "id": op.sequence,
                "pid": capture.pid, "tid": op.thread, "ts": time_us(op.start_ns), "cat": "fwdbwd",
            }  # fmt: skip


def _marks(capture: Capture) -> Iterator[Event]:
    """mstx ranges, in a separate row named after the program."""
    pid = synthetic_pid(capture, _MSTX_INDEX, 0)
    yield from process_events(pid, "python3", "CPU", _MSTX_INDEX)
    for mark in capture.marks:
        place: Event = {"pid": pid, "tid": mark.thread, "ts": time_us(mark.start_ns)}
        args = {"event_type": "start/end", "domain": mark.domain}
        yield {"name": mark.message, **place, "dur": (mark.end_ns - mark.start_ns) / 1_000, "args": args, "ph": "X"}
        if mark.connection is not None:
            flow = str(mark.connection)
            yield {"name": f"MsTx_{flow}", "ph": "s", "cat": "MsTx", "id": flow, **place}


def _calls(run: SampleRun, capture: Capture) -> Iterator[Event]:
    """CANN's calls, each with the start of its flow if it leads to a device."""
    pid = synthetic_pid(capture, _CANN_INDEX, 0)
    yield from process_events(pid, "CANN", "CPU", _CANN_INDEX)
    flows = launch_flows(capture)
    for call in capture.calls:
        if call.layer == "runtime" and run.level != "level2":
            continue
        name = "Communication" if call.layer == "communication" and run.newer else _LAYER_NAMES[call.layer]
        level = "hccl" if call.layer == "communication" and not run.newer else call.layer
        yield {
            "name": f"{name}@{call.name}", "pid": pid, "tid": call.thread, "ts": time_us(call.start_ns),
            "dur": (call.end_ns - call.start_ns) / 1_000,
            "args": {
                "Thread Id": call.thread, "Mode": call.mode, "level": level,
                "id": "0" if call.layer == "node" else call.name, "item_id": call.item,
                "connection_id": call.connection,
            },
            "ph": "X",
        }  # fmt: skip
        if call.connection in flows:
            flow = flows[call.connection]
            yield {
                "name": f"HostToDevice{flow}", "ph": "s", "cat": "HostToDevice", "id": flow, "pid": pid,
                "tid": call.thread, "ts": time_us((call.start_ns + call.end_ns) // 2),
            }  # fmt: skip


def _launches(capture: Capture) -> Iterator[Event]:
    """Flows from operators to devices; the id is the device's time in nanoseconds."""
    hardware = {device: synthetic_pid(capture, HARDWARE_INDEX, device) for device in capture.devices}
    communication = {device: synthetic_pid(capture, COMMUNICATION_INDEX, device) for device in capture.devices}
    targets: dict[int, tuple[int, int, int]] = {}
    for kernel in capture.kernels:
        targets[kernel.connection] = (kernel.start_ns, hardware[kernel.device], kernel.stream)
    for copy in capture.copies:
        targets[copy.connection] = (copy.start_ns, hardware[copy.device], copy.stream)
    for task in capture.collectives:
        targets[task.connection] = (task.start_ns, communication[task.device], 0)
    for op in capture.ops:
        for connection in op.connections:
            start, pid, tid = targets[connection]
            flow: Event = {"bp": "e", "name": "torch_to_npu", "id": start}
            yield {
                "ph": "s", **flow, "pid": capture.pid, "tid": op.thread, "ts": time_us(op.start_ns), "cat": "async_npu",
            }  # fmt: skip
            yield {"ph": "f", **flow, "pid": pid, "tid": tid, "ts": time_us(start), "cat": "async_npu"}
