"""How many cores and how much memory this process may use: those of the machine, or fewer in a container.

Limits of a container are those of its control group and of the groups around it (cgroup v1 and v2, Linux).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def cores() -> int:
    """How many cores this process may use, at least 1."""
    try:
        allowed = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        allowed = os.cpu_count() or 1
    shares = [_share(group) for group in _groups("cpu")]
    return min([allowed, *(max(1, math.ceil(share)) for share in shares if share is not None)])


def memory_bytes() -> int:
    """The memory that this process may use."""
    try:
        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not a POSIX system
        physical = 16 * 2**30
    files = [group / name for group in _groups("memory") for name in ("memory.max", "memory.limit_in_bytes")]
    return min([physical, *(limit for file in files for limit in _numbers(file))])


def _share(group: Path) -> float | None:
    """How many cores a group may keep busy; None: no limit."""
    numbers = _numbers(group / "cpu.max") or _numbers(group / "cpu.cfs_quota_us") + _numbers(
        group / "cpu.cfs_period_us"
    )
    return numbers[0] / numbers[1] if len(numbers) == 2 else None


def _numbers(file: Path) -> list[int]:
    """The numbers in a file of a group. None if it is absent, or says that there is no limit (``max``, or -1)."""
    try:
        numbers = [int(word) for word in file.read_text(encoding="ascii").split()]
    except (OSError, ValueError):
        return []
    return numbers if all(number > 0 for number in numbers) else []


def _groups(controller: str) -> Iterator[Path]:
    """The folders of this process's groups and of those around them; in a container, the outer ones may be absent."""
    try:
        lines = _OWN_GROUPS.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    except OSError:  # not Linux
        return
    for line in filter(None, lines):
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for root in {_ROOT / controllers, _ROOT / controller} if controllers else {_ROOT}:
            for length in range(len(parts), -1, -1):
                yield root.joinpath(*parts[:length])
