"""Checks whether another profiler is active in this process: a second one would silently take its events."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

_REMEDY = "turn it off (with verl: global_profiler.steps=null)"


def other_profiler(callers: Iterable[object], tool: str | None) -> str | None:
    """The other profiler and what to do about it; None: there is none.

    Args:
        callers: objects whose methods scope and tick are; workers of verl hold verl's profiler.
        tool: the requested tool.
    """
    found = next(filter(None, map(_of_verl, callers)), None)
    found = found or _of_torch_npu() or _of_torch() or (_of_nsys() if tool != "nsys" else None)
    return f"{found}; {_REMEDY}" if found else None


def _of_verl(caller: object) -> str | None:
    """verl's global profiler, if it is active in this step on this rank."""
    profiler: Any = getattr(caller, "profiler", None)
    checks = [getattr(profiler, name, None) for name in ("check_enable", "check_this_step", "check_this_rank")]
    if all(callable(check) for check in checks) and all(check() for check in checks):  # type: ignore[misc]
        return "verl's global profiler is recording this step"
    return None


def _of_torch() -> str | None:
    autograd: Any = sys.modules.get("torch.autograd.profiler")
    torch: Any = sys.modules.get("torch")
    running = getattr(autograd, "_is_profiler_enabled", False) or (torch and torch.autograd._profiler_enabled())
    return "torch.profiler is already recording" if running else None


def _of_torch_npu() -> str | None:
    """Detects torch_npu's profiler: it wraps the methods of ``Event`` while it records."""
    module: Any = sys.modules.get("torch_npu")
    event = getattr(getattr(module, "npu", None), "Event", None)
    return "torch_npu.profiler is already recording" if hasattr(getattr(event, "record", None), "origin_func") else None


def _of_nsys() -> str | None:
    if "NSYS_PROFILING_SESSION_ID" in os.environ:
        return "this process runs under Nsight Systems (use tool=nsys, which marks the window for it)"
    return None
