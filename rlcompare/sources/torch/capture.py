"""Describes the capture in a torch.profiler trace (rank, start time) without reading its events.

Rank and world size come from the trace (``distributedInfo``), else from the file name: by default it has host and
process, and users who need the rank put it there.
"""

from __future__ import annotations

import re
from pathlib import Path

from rlcompare.model.run import CaptureInput
from rlcompare.sources.described import description
from rlcompare.sources.torch.file import first_time, read_header

_RANK_IN_NAME = re.compile(r"(?:^|[^A-Za-z])rank[-_]?(\d{1,6})(?!\d)", re.IGNORECASE)
_WORLD_IN_NAME = re.compile(r"(?:^|[^A-Za-z])rank[-_]?\d{1,6}-of-(\d{1,6})(?!\d)", re.IGNORECASE)
_TIME_IN_NAME = re.compile(r"\.(\d{13}|\d{16}|\d{19})\.pt\.trace\.json(?:\.gz)?$")

_YEAR_2001_NS = 10**18


def capture_of_trace(path: Path) -> CaptureInput:
    """The capture of one trace.

    Raises:
        OSError: it cannot be read.
    """
    info = read_header(path)
    world = _WORLD_IN_NAME.search(path.name)
    distributed = info.get("distributedInfo", {})
    if world and isinstance(distributed, dict) and "world_size" not in distributed:
        info["distributedInfo"] = {**distributed, "world_size": int(world.group(1))}
    said = description(info)
    return CaptureInput(
        "torch_trace",
        path,
        {"trace": path},
        role=said.role,
        phase=said.phase,
        rank=_rank(info, path, said.rank),
        started_ns=_started_ns(info, path),
        info=info,
    )


def _rank(info: dict[str, object], path: Path, said: int | None) -> int | None:
    distributed = info.get("distributedInfo")
    stated = distributed.get("rank") if isinstance(distributed, dict) else None
    if isinstance(stated, int) and not isinstance(stated, bool) and 0 <= stated < 2**31:
        return stated
    match = _RANK_IN_NAME.search(path.name)
    return int(match.group(1)) if match else said


def _started_ns(info: dict[str, object], path: Path) -> int | None:
    """Start time of the trace, else when it was written: its name holds milliseconds, lately nanoseconds."""
    match = _TIME_IN_NAME.search(path.name)
    if match:
        return int(match.group(1).ljust(19, "0"))
    first = first_time(path)
    base = info.get("baseTimeNanoseconds")
    if first is None:
        return None
    start = first + (base if isinstance(base, int) and 0 <= base < 2**62 else 0)
    return start if start > _YEAR_2001_NS else None  # else it counts from a base time that comes after the events
