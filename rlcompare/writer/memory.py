"""Simulates the caching allocator of one device, as far as a profile shows it."""

from __future__ import annotations

from dataclasses import replace

from rlcompare.writer.model import Allocation, MemoryLevel

RESIDENT_BYTES = 2_400 << 20
_BLOCK_BYTES = 512
_SEGMENT_BYTES = 20 << 20
_TRANSIENTS = 2


class Allocator:
    """Allocates memory, and keeps the records of it that a profile has.

    Args:
        device: its id.
        factor: multiplies all sizes, including resident ones.
    """

    def __init__(self, device: int, factor: float) -> None:
        self._device = device
        self._factor = factor
        self._allocated = self._size(RESIDENT_BYTES)
        self._reserved = self._segments(self._allocated)
        self._alive: list[tuple[str | None, int]] = []
        self._last_ns = 0
        self.allocations: list[Allocation] = []
        self.levels: list[MemoryLevel] = []

    def open(self) -> None:
        """Starts a capture. Earlier allocations are not in its records."""
        self.allocations, self.levels, self._alive = [], [], []

    def allocate(self, name: str, size_bytes: int, time_ns: int, label: str | None) -> None:
        """Memory for an operator's output; without a label it is freed after two more outputs."""
        size = self._size(size_bytes)
        time_ns = self._tick(time_ns)
        self._allocated += size
        self._reserved = max(self._reserved, self._segments(self._allocated))
        self._alive.append((label, len(self.allocations)))
        self.allocations.append(Allocation(name, self._device, size, time_ns, self._allocated, self._reserved))
        self.levels.append(MemoryLevel(self._device, time_ns, self._allocated, self._reserved))
        if label is None:
            transients = [entry for entry in self._alive if entry[0] is None]
            for entry in transients[:-_TRANSIENTS]:
                self._free(entry, time_ns + 800)

    def release(self, label: str, time_ns: int) -> None:
        """Frees all outputs with the label, and those without one."""
        for entry in [entry for entry in self._alive if entry[0] in (label, None)]:
            self._free(entry, time_ns)

    def _free(self, entry: tuple[str | None, int], time_ns: int) -> None:
        self._alive.remove(entry)
        time_ns = self._tick(time_ns)
        before = self.allocations[entry[1]]
        self._allocated -= before.size_bytes
        self.allocations[entry[1]] = replace(
            before, release_ns=time_ns, release_allocated=self._allocated, release_reserved=self._reserved
        )
        self.levels.append(MemoryLevel(self._device, time_ns, self._allocated, self._reserved))

    def _tick(self, time_ns: int) -> int:
        """The time of an event, after all events before it."""
        self._last_ns = max(time_ns, self._last_ns + 20)
        return self._last_ns

    def _size(self, size_bytes: int) -> int:
        return -(-round(size_bytes * self._factor) // _BLOCK_BYTES) * _BLOCK_BYTES

    @staticmethod
    def _segments(allocated: int) -> int:
        return -(-allocated // _SEGMENT_BYTES) * _SEGMENT_BYTES
