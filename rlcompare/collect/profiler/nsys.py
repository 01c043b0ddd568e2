"""Nsight Systems: opens and closes its recording window, and marks steps and phases.

Nsight Systems writes its own file. It has to start the process with an option to wait for the window:

    nsys profile --trace=cuda,nvtx --capture-range=cudaProfilerApi --capture-range-end=repeat rlcompare run …
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch

from rlcompare.collect.profiler.plan import Options
from rlcompare.collect.profiler.record import Capture, Target, Written
from rlcompare.collect.profiler.tool import Tool
from rlcompare.collect.profiler.windows import Windows
from rlcompare.errors import UsageError

_COMMAND = "nsys profile --trace=cuda,nvtx --capture-range=cudaProfilerApi --capture-range-end=repeat rlcompare run …"
_SESSION = "NSYS_PROFILING_SESSION_ID"
"""Set by nsys for the processes that it starts."""


def _capture(target: Target, options: Options) -> Capture:
    """Opens a window, or drives those of a schedule. Only nsys knows the name of its file."""
    window: Any = torch.cuda.profiler

    def start() -> None:
        torch.cuda.synchronize()
        window.start()

    def stop(sampled: tuple[int, ...] | None) -> list[Written]:
        torch.cuda.synchronize()
        window.stop()
        return [Written(None, sampled)]

    return Windows(target, start, stop, window.stop)


def nsys_tool(device: str) -> Tool:
    """The tool, if it works on this machine.

    Raises:
        UsageError: there is no GPU, or the process does not run under nsys.
    """
    if device != "cuda":
        raise UsageError(f"tool nsys records GPUs, but this run is on {device}: set global_profiler.tool=torch")
    if _SESSION not in os.environ:
        raise UsageError(f"tool nsys: the run must be started by Nsight Systems, as in `{_COMMAND}`")
    return Tool(_capture, _mark, _mark_step)


@contextmanager
def _mark(name: str) -> Iterator[None]:
    nvtx: Any = torch.cuda.nvtx
    nvtx.range_push(name)
    try:
        yield
    finally:
        nvtx.range_pop()


def _mark_step(step: int) -> AbstractContextManager[None]:
    return _mark(f"ProfilerStep#{step}")
