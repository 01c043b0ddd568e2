"""Checks free disk space for a profile: a full disk would end the run, which is worth more than its profile."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from rlcompare.errors import UsageError

_RESERVE = 64 << 20
"""Free bytes that a capture must leave for the run's own files and for others."""
_FIRST_CAPTURE = {"npu": 1 << 30}
"""Bytes that a tool's first capture may need, since its size is unknown; for other tools ``_RESERVE``."""
_MARGIN = 1.5
"""The next capture may be this many times as large as the largest one so far."""


class DiskGuard:
    """Watches the file systems of one process's captures.

    Attributes:
        problem: why there are no more captures; empty as long as there may be.
    """

    def __init__(self) -> None:
        self.problem = ""
        self._largest: dict[str, int] = {}

    def allows(self, tool: str, folder: Path, what: str) -> bool:
        """Whether a capture may start. Once there is too little space, no more captures are made.

        Args:
            what: the subject of the capture, for the message.
        """
        if self.problem:
            return False
        known = self._largest.get(tool)
        needed = _first_need(tool, _ranks_here()) if known is None else _RESERVE + int(known * _MARGIN) * _ranks_here()
        free = _free(folder)
        if free is not None and free < needed:
            basis = "" if known is None else f", as the largest so far had {_mib(known)} per rank"
            ranks = "1 rank" if _ranks_here() == 1 else f"{_ranks_here()} ranks"
            self.problem = (
                f"{what} is not captured: {folder} has {_mib(free)} free, but a capture of {ranks} may need "
                f"{_mib(needed)}{basis}. Capturing is off from now on; the run continues. "
                "Free some disk space, or set save_path"
            )
        return not self.problem

    def still_allows(self, folder: Path, what: str) -> bool:
        """Whether a running capture may continue."""
        free = _free(folder)
        if not self.problem and free is not None and free < _RESERVE:
            self.problem = (
                f"the capture of {what} was stopped and dropped: {folder} has {_mib(free)} free. Capturing "
                "is off from now on; the run continues. Free some disk space, set save_path, "
                "or capture less (level, contents, a schedule)"
            )
        return not self.problem

    def learn(self, tool: str, path: Path) -> None:
        """Records how much space a capture took."""
        size = sum(_sizes(path))
        self._largest[tool] = max(size, self._largest.get(tool, 0))


def check_room(folder: Path, tool: str, ranks: int) -> None:
    """Refuses a capture that another process will write, before anything starts.

    Raises:
        UsageError: there is too little free space.
    """
    free, needed = _free(folder), _first_need(tool, ranks)
    if free is not None and free < needed:
        raise UsageError(
            f"{folder} has {_mib(free)} free, but a profile of {ranks} ranks may need {_mib(needed)}: "
            "free some disk space, profile fewer ranks, or choose another folder with -o"
        )


def _first_need(tool: str, ranks: int) -> int:
    return _RESERVE + _FIRST_CAPTURE.get(tool, 0) * ranks


def _ranks_here() -> int:
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def _free(folder: Path) -> int | None:
    """Free bytes of the file system of a folder that may not exist yet; None if unknown."""
    place = next((place for place in (folder.absolute(), *folder.absolute().parents) if place.exists()), None)
    try:
        return None if place is None else shutil.disk_usage(place).free
    except OSError:
        return None


def _sizes(path: Path) -> Iterator[int]:
    if path.is_file():
        yield path.stat().st_size
    for parent, _, names in os.walk(path):
        for name in names:
            file = Path(parent, name)
            if not file.is_symlink():
                yield file.stat().st_size


def _mib(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"
