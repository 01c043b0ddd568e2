"""The host's tables of the database: CANN's calls, the framework's operators and queue, marks, steps, memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rlcompare.writer import texts
from rlcompare.writer.db_strings import Row, Strings
from rlcompare.writer.model import UINT32_MAX, Capture, HostOp
from rlcompare.writer.spec import SampleRun

STREAM_POINTER = 733_279_888
ACTIVE_RELEASE_LEAD_NS = 260
_API_TYPES = {"runtime": 5000, "communication": 5500, "node": 10000, "acl": 20000}
_OP, _QUEUE, _TRACE = 50001, 50002, 50003
_START_END = 2


def framework_tables(run: SampleRun, capture: Capture, strings: Strings) -> dict[str, list[Row]]:
    """All tables that hold the host's side, empty ones included."""
    tables: dict[str, list[Row]] = {"MSTX_EVENTS": _mark_rows(run, capture, strings)}
    tables["GC_RECORD"] = [
        (item.start_ns, item.end_ns, global_tid(capture, item.thread)) for item in capture.collections
    ]
    tables["STEP_TIME"] = [(step.number, step.start_ns, step.end_ns) for step in capture.steps]
    if run.has_device_data:
        tables["CANN_API"] = _call_rows(run, capture, strings)
    if "cpu" in run.contents and run.level != "level_none":
        framework = _Framework(run, capture, strings)
        tables["PYTORCH_API"] = list(framework.rows())
        tables["CONNECTION_IDS"] = framework.connections
        tables["PYTORCH_CALLCHAINS"] = framework.stacks
    if run.has_device_data and "memory" in run.contents:
        tables["MEMORY_RECORD"] = list(_level_rows(capture, strings))
        tables["OP_MEMORY"] = list(_allocation_rows(capture, strings))
    return tables


def global_tid(capture: Capture, thread: int) -> int:
    """Process and thread in one number."""
    return capture.pid << 32 | thread


def _mark_rows(run: SampleRun, capture: Capture, strings: Strings) -> list[Row]:
    rows: list[Row] = []
    for mark in capture.marks:
        thread = global_tid(capture, mark.thread)
        connection = UINT32_MAX if mark.connection is None else mark.connection
        rows.append(
            (mark.start_ns, mark.end_ns, _START_END, mark.range_id, UINT32_MAX, strings.cann(mark.message), thread,
             thread, strings.cann(mark.domain), connection)
        )  # fmt: skip
    return rows


def _call_rows(run: SampleRun, capture: Capture, strings: Strings) -> list[Row]:
    """CANN_API; runtime calls from Level2 on."""
    return [
        (call.start_ns, call.end_ns, _API_TYPES[call.layer], global_tid(capture, call.thread), call.connection,
         strings.cann(call.name))
        for call in capture.calls
        if call.layer != "runtime" or run.level == "level2"
    ]  # fmt: skip


class _Framework:
    """PYTORCH_API in torch_npu's order: enqueues, dequeues, operators, Python calls. Links are numbered on the way."""

    def __init__(self, run: SampleRun, capture: Capture, strings: Strings) -> None:
        self.run = run
        self.capture = capture
        self.strings = strings
        self.connections: list[Row] = []
        self.stacks: list[Row] = []
        self._links = 0
        self._chains = 0
        correlations = [call.correlation for call in capture.queue]
        self._pair_base = max(correlations, default=0) + 1
        pairs = Counter(op.pair for op in capture.ops if op.pair is not None)
        self._paired = {pair for pair, count in pairs.items() if count > 1}

    def rows(self) -> Iterator[Row]:
        for prefix in ("Enqueue", "Dequeue"):
            for call in self.capture.queue:
                if call.name.startswith(prefix):
                    link = self._link((call.correlation,))
                    name = self.strings.torch(call.name)
                    yield self._row(call.start_ns, call.end_ns, call.thread, link, name, _QUEUE)
        for op in self.capture.ops:
            yield self._op_row(op)
        for step in self.capture.steps:
            yield (
                str(step.start_ns), str(step.end_ns), global_tid(self.capture, self.capture.main_thread), None,
                self.strings.torch(f"ProfilerStep#{step.number}"), -1, 0, None, None, None, _OP,
            )  # fmt: skip
        if {"module", "stack"} & set(self.run.contents):
            for python in self.capture.python:
                name = self.strings.torch(python.name)
                yield self._row(python.start_ns, python.end_ns, python.thread, None, name, _TRACE)

    def _row(self, start: int, end: int, thread: int, link: int | None, name: int, kind: int) -> Row:
        return (str(start), str(end), global_tid(self.capture, thread), link, name, None, None, None, None, None, kind)

    def _op_row(self, op: HostOp) -> Row:
        targets = op.connections if self.run.has_device_data else ()
        if op.pair in self._paired and op.pair is not None:
            targets = (*targets, self._pair_base + op.pair)
        shown = "shapes" in self.run.contents and op.inputs
        return (
            str(op.start_ns), str(op.end_ns), global_tid(self.capture, op.thread),
            self._link(targets) if targets else None, self.strings.torch(op.name), op.sequence, op.forward_thread,
            self.strings.torch(texts.host_dtypes(op)) if shown else None,
            self.strings.torch(texts.host_shapes(op)) if shown else None,
            self._stack(op), _OP,
        )  # fmt: skip

    def _stack(self, op: HostOp) -> int | None:
        if "stack" not in self.run.contents or not op.stack:
            return None
        ident = self._chains
        self._chains += 1
        self.stacks += [(ident, self.strings.torch(frame), depth) for depth, frame in enumerate(op.stack)]
        return ident

    def _link(self, targets: tuple[int, ...]) -> int:
        ident = self._links
        self._links += 1
        self.connections += [(ident, target) for target in targets]
        return ident


def _level_rows(capture: Capture, strings: Strings) -> Iterator[Row]:
    """MEMORY_RECORD: PyTorch's allocator, and the sum with the graph engine's, which holds nothing here."""
    for level in sorted(capture.memory, key=lambda level: (level.time_ns, level.device)):
        for component in ("PTA", "PTA+GE"):
            yield (
                strings.memory(component), level.time_ns, level.allocated, level.reserved, level.allocated,
                STREAM_POINTER, level.device,
            )  # fmt: skip


def _allocation_rows(capture: Capture, strings: Strings) -> Iterator[Row]:
    for item in sorted(capture.allocations, key=lambda item: (item.alloc_ns, item.device)):
        released, active = item.release_ns, None
        if released is not None:
            active = released - ACTIVE_RELEASE_LEAD_NS
        yield (
            strings.memory(item.name), item.size_bytes, item.alloc_ns, released, active,
            None if released is None else released - item.alloc_ns, None if active is None else active - item.alloc_ns,
            item.alloc_allocated, item.alloc_reserved, item.alloc_allocated,
            item.release_allocated, item.release_reserved, item.release_allocated, STREAM_POINTER, item.device,
        )  # fmt: skip
