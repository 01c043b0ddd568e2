"""What a profiling tool offers to the step profiler."""

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
        mark: a range of a name in what is being captured.
        mark_step: a range for a training step.
    """

    open: Callable[[Target, Options], Capture]
    mark: Callable[[str], AbstractContextManager[None]]
    mark_step: Callable[[int], AbstractContextManager[None]]
