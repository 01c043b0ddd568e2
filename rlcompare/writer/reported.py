"""The profiler's own summary of a capture: step times, the overlap of compute and communication, collectives.

Both exports print these numbers (``StepTraceTime`` and ``step_trace_time.csv``, ``CommAnalyzer*`` and
``communication*.json``). Definitions: torch_npu's, as of 2024-10 and later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rlcompare.writer.model import Capture, CollectiveTask, KernelTask, PlaneTask

Interval = tuple[int, int]


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """Union of intervals, as disjoint intervals in order; touching ones are joined."""
    result: list[Interval] = []
    for start, end in sorted(intervals):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def length(intervals: Iterable[Interval]) -> int:
    """Length of the union."""
    return sum(end - start for start, end in merged(intervals))


def without(intervals: Iterable[Interval], holes: Iterable[Interval]) -> list[Interval]:
    """The part of the union of ``intervals`` outside the union of ``holes``."""
    result = []
    cuts = merged(holes)
    for start, end in merged(intervals):
        for hole_start, hole_end in cuts:
            if hole_end <= start or hole_start >= end:
                continue
            if hole_start > start:
                result.append((start, hole_start))
            start = max(start, hole_end)
        if start < end:
            result.append((start, end))
    return result


def kernel_intervals(capture: Capture, device: int) -> list[Interval]:
    return [(task.start_ns, task.end_ns) for task in capture.kernels if task.device == device]


def collective_intervals(capture: Capture, device: int) -> list[Interval]:
    return [(task.start_ns, task.end_ns) for task in capture.collectives if task.device == device]


@dataclass(frozen=True)
class Overlap:
    """Compute, communication, uncovered communication and free time of a device over the capture, as intervals."""

    computing: list[Interval]
    communication: list[Interval]
    uncovered: list[Interval]
    free: list[Interval]


def overlap(capture: Capture, device: int) -> Overlap:
    """The process ``Overlap Analysis`` of the trace."""
    kernels, collectives = kernel_intervals(capture, device), collective_intervals(capture, device)
    busy = merged(kernels + collectives)
    free = without([(busy[0][0], busy[-1][1])], busy) if busy else []
    return Overlap(merged(kernels), merged(collectives), without(collectives, kernels), free)


@dataclass(frozen=True)
class StepRange:
    """The device time that the profiler assigns to a step. ``host_start_ns`` is None without step marks."""

    number: int | None
    start_ns: int
    end_ns: int
    host_start_ns: int | None


def step_ranges(capture: Capture, device: int) -> list[StepRange]:
    """Per step: from the first task launched in the host's step, to the later of the step's end and the last task's.

    Only tasks with a node-level launch count. Without step marks the whole capture is one range.
    """
    if not capture.steps:
        return [StepRange(None, 0, 2**63 - 1, None)]
    launches = {call.connection: call.start_ns for call in capture.calls if call.layer == "node"}
    tasks: list[KernelTask | CollectiveTask] = [*capture.kernels, *capture.collectives]
    launched = [
        (launches[task.connection], task.start_ns, task.end_ns)
        for task in tasks
        if task.device == device and task.connection in launches
    ]
    ranges = []
    for step in capture.steps:
        own = [(start, end) for launch, start, end in launched if step.start_ns <= launch <= step.end_ns]
        if own:
            first, last = min(start for start, _ in own), max(end for _, end in own)
            ranges.append(StepRange(step.number, first, max(last, step.end_ns), step.start_ns))
    return ranges


def step_of(ranges: list[StepRange], start_ns: int) -> int | None:
    """Number of the first step whose range holds the time."""
    return next((r.number for r in ranges if r.start_ns <= start_ns < r.end_ns), None)


@dataclass(frozen=True)
class StepTime:
    """A row of StepTraceTime, in nanoseconds."""

    device: int
    step: int | None
    computing: int
    uncovered: int
    overlapped: int
    communication: int
    free: int
    stage: int
    bubble: int
    preparing: int


def step_times(capture: Capture) -> list[StepTime]:
    """The rows of StepTraceTime, per device and step. The simulation has no receive operator, so no bubble."""
    rows = []
    for device in capture.devices:
        for span in step_ranges(capture, device):
            kernels = [i for i in kernel_intervals(capture, device) if span.start_ns <= i[0] < span.end_ns]
            collectives = [i for i in collective_intervals(capture, device) if span.start_ns <= i[0] < span.end_ns]
            busy = merged(kernels + collectives)
            if not busy:
                continue
            computing, communication, covered = length(kernels), length(collectives), length(busy)
            stage = busy[-1][1] - busy[0][0]
            uncovered = covered - computing
            preparing = 0 if span.host_start_ns is None else span.start_ns - span.host_start_ns
            rows.append(
                StepTime(device, span.number, computing, uncovered, communication - uncovered, communication,
                         stage - covered, stage, 0, preparing)
            )  # fmt: skip
    return rows


@dataclass(frozen=True)
class Transfer:
    """Transfers of one collective, or of several, to one rank of the group."""

    size_bytes: int
    duration_ns: int

    @property
    def bandwidth(self) -> float:
        """GB/s, rounded as the profiler does."""
        return round(self.size_bytes / self.duration_ns, 4) if self.duration_ns else 0


@dataclass(frozen=True)
class CollectiveTimes:
    """A row of CommAnalyzerTime. Times are those of the first plane that serves a peer, in nanoseconds."""

    task: CollectiveTask
    transit: int
    wait: int
    synchronization: int

    @property
    def elapsed(self) -> int:
        return self.task.end_ns - self.task.start_ns

    @property
    def idle(self) -> int:
        return self.elapsed - self.transit - self.wait


def collective_times(task: CollectiveTask) -> CollectiveTimes:
    """Transit, wait and synchronization (the first wait) of one collective."""
    plane = [part for part in task.tasks if part.plane == 1]
    waits = [part.end_ns - part.start_ns for part in plane if part.name == "Notify_Wait"]
    return CollectiveTimes(task, sum(_duration(part) for part in plane if part.link), sum(waits), sum(waits[:1]))


def package_sizes(tasks: Iterable[PlaneTask]) -> dict[int, tuple[int, int]]:
    """Transfers between ranks by size in bytes: their number, and their total duration."""
    sizes: dict[int, tuple[int, int]] = {}
    for part in tasks:
        if part.link == "HCCS":
            count, total = sizes.get(part.size_bytes, (0, 0))
            sizes[part.size_bytes] = (count + 1, total + _duration(part))
    return sizes


def transfers(task: CollectiveTask) -> dict[tuple[int, int], Transfer]:
    """Transfers by pair of ranks of the group."""
    pairs: dict[tuple[int, int], Transfer] = {}
    for part in task.tasks:
        if part.link and part.target is not None:
            before = pairs.get((part.source, part.target), Transfer(0, 0))
            pairs[part.source, part.target] = Transfer(
                before.size_bytes + part.size_bytes, before.duration_ns + _duration(part)
            )
    return pairs


def by_step(capture: Capture) -> dict[int | None, list[CollectiveTask]]:
    """The collectives of each step; those outside all steps are left out."""
    found: dict[int | None, list[CollectiveTask]] = {}
    ranges = {device: step_ranges(capture, device) for device in capture.devices}
    for task in capture.collectives:
        number = step_of(ranges[task.device], task.start_ns)
        if number is not None or not capture.steps:
            found.setdefault(number, []).append(task)
    return found


def step_key(number: int | None) -> str:
    """The name of a step in the communication tables."""
    return "step" if number is None else f"step{number}"


MATRIX_RANKS = ("top1", "middle", "bottom1", "bottom2", "bottom3")


def matrix(tasks: list[CollectiveTask]) -> dict[str, dict[tuple[int, int], tuple[Transfer, str]]]:
    """For one kind of collective, by pair of ranks: the fastest, middle and slowest operators, and their total.

    The keys are ``top1``, ``middle``, ``bottom1`` to ``bottom3`` and ``total``; a value is the transfer and the name of
    its operator (empty for the total).
    """
    links: dict[tuple[int, int], list[tuple[Transfer, str]]] = {}
    for task in tasks:
        for pair, transfer in transfers(task).items():
            links.setdefault(pair, []).append((transfer, task.name))
    result: dict[str, dict[tuple[int, int], tuple[Transfer, str]]] = {key: {} for key in (*MATRIX_RANKS, "total")}
    for pair, found in links.items():
        ordered = sorted(found, key=lambda entry: -entry[0].bandwidth)
        last = len(ordered) - 1
        positions = (0, len(ordered) // 2, last, max(0, last - 1), max(0, last - 2))
        for key, position in zip(MATRIX_RANKS, positions, strict=True):
            result[key][pair] = ordered[position]
        size, duration = sum(t.size_bytes for t, _ in found), sum(t.duration_ns for t, _ in found)
        result["total"][pair] = (Transfer(size, duration), "")
    return result


def _duration(part: PlaneTask) -> int:
    return part.end_ns - part.start_ns
