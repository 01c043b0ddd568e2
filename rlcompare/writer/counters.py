"""Device samples over a capture: frequency, bandwidth of HBM and last-level cache, memory of the whole process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rlcompare.writer.model import Capture, MemoryLevel

_PERIOD_NS = 20_000_000
_MODULES = {"HCCL": 3, "RUNTIME": 7, "DEVMM": 22, "GE": 45}
_OVERHEAD_BYTES = 640 << 20
HIT_RATE = 0.825
"""Hit rate of the last-level cache, at all times."""


@dataclass(frozen=True)
class Sample:
    """One sample of a device: ``part`` is the HBM stack, the cache slice or the module's id."""

    device: int
    time_ns: int
    name: str
    part: int
    value: int


def frequency(capture: Capture) -> Iterator[Sample]:
    """MHz of the AI Cores at begin and end."""
    for device in capture.devices:
        for time_ns in (capture.start_ns, capture.end_ns):
            yield Sample(device, time_ns, "frequency", 0, capture.frequency_mhz)


def bandwidth(capture: Capture) -> Iterator[Sample]:
    """HBM read and write in bytes per second, from the kernels' traffic in each period, split over four stacks."""
    for device in capture.devices:
        for start in _ticks(capture):
            moved = {"read": 0, "write": 0}
            for task in capture.kernels:
                if task.device == device and start <= task.start_ns < start + _PERIOD_NS:
                    moved["read"] += sum(tensor.size_bytes for tensor in task.spec.inputs)
                    moved["write"] += sum(tensor.size_bytes for tensor in task.spec.outputs)
            for name, size in moved.items():
                for stack in range(4):
                    yield Sample(device, start + _PERIOD_NS, name, stack, size * 1_000_000_000 // _PERIOD_NS // 4)


def cache(capture: Capture) -> Iterator[Sample]:
    """Throughput of the last-level cache in bytes per second."""
    for device in capture.devices:
        for position, start in enumerate(_ticks(capture)):
            yield Sample(device, start + _PERIOD_NS, "llc", 0, 3_100_000_000 + 170_000_000 * (position % 5))


def process_memory(capture: Capture) -> Iterator[Sample]:
    """Bytes that the process holds on the device: the allocator's reserved memory, and the runtime's own."""
    for device in capture.devices:
        levels = [level for level in capture.memory if level.device == device]
        for start in _ticks(capture):
            yield Sample(device, start, "app", 0, _reserved(levels, start) + _OVERHEAD_BYTES)


def module_memory(capture: Capture) -> Iterator[Sample]:
    """Bytes that CANN's own modules hold."""
    for device in capture.devices:
        for start in _ticks(capture):
            for name, module in _MODULES.items():
                yield Sample(device, start, name, module, (module + 1) << 23)


def _reserved(levels: list[MemoryLevel], time_ns: int) -> int:
    before = [level.reserved for level in levels if level.time_ns <= time_ns]
    return before[-1] if before else levels[0].reserved if levels else 0


def _ticks(capture: Capture) -> range:
    return range(capture.start_ns, capture.end_ns, _PERIOD_NS)
