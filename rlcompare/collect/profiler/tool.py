"""The interface between a profiling tool and the step profiler."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from rlcompare.collect.profiler.plan import Options
from rlcompare.collect.profiler.record import Capture, Target


@dataclass(frozen=True)
class Tool:
    """One profiling tool.

    Attributes:
        open: starts a capture.
        mark: makes a named range in the current capture.
        mark_step: makes a range for a training step.
    """

    open: Callable[[Target, Options], Capture]
    mark: Callable[[str], AbstractContextManager[None]]
    mark_step: Callable[[int], AbstractContextManager[None]]
