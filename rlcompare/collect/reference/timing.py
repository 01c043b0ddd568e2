"""Wall time of the phases of a step, under verl's names (``timing_s/gen``, …)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch


class Timers:
    """Seconds by name; a name that is timed twice is summed."""

    def __init__(self, device: torch.device) -> None:
        self.seconds: dict[str, float] = {}
        self._device = device

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Times a block, until the work that it launched on the device has finished."""
        self._synchronize()
        start = time.perf_counter()
        try:
            yield
        finally:
            self._synchronize()
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def _synchronize(self) -> None:
        if self._device.type != "cpu":
            getattr(torch, self._device.type).synchronize()
