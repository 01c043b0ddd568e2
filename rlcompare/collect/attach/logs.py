"""torch_npu's logs of ``dynamic_profile``: ``log/dp_*.log`` of each process, ``log/monitor_dp_*.log`` of the poller."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

_NAME = re.compile(r"(monitor_)?dp_(.+)_(\d{1,10})_rank_(-?\d{1,9})\.log")
_LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} \[(\w+)\] \[\d+\] \S+: (.*)")
_MOST_AT_ONCE = 1024 * 1024
"""torch_npu rotates a log at 200 KB, so a larger amount of new text is not a torch_npu log."""


@dataclass(frozen=True)
class Line:
    """One message; level is empty if the line is not in torch_npu's format."""

    level: str
    text: str


@dataclass
class Log:
    """One log, read as it grows, also across torch_npu's rotation (``.log`` becomes ``.log.1``).

    Attributes:
        earlier: lines from before the request.
        lines: lines since the request.
    """

    path: Path
    is_monitor: bool
    host: str
    pid: int
    rank: int
    earlier: list[Line] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    modified: float = 0.0
    _inode: int | None = None
    _offset: int = 0
    _rest: bytes = b""

    @property
    def older(self) -> Path:
        return self.path.with_name(f"{self.path.name}.1")

    def read(self) -> None:
        """Reads new lines."""
        if self._inode is not None and _inode(self.path) != self._inode and _inode(self.older) == self._inode:
            self._read(self.older)
        if self._inode is None and _inode(self.older) is not None:
            self._read(self.older)
        self._read(self.path)

    def mark(self) -> None:
        """Marks a request: lines from now on come after it."""
        self.earlier += self.lines
        self.lines = []

    def _read(self, path: Path) -> None:
        try:
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
                found = os.fstat(opened.fileno())
                if not stat.S_ISREG(found.st_mode):
                    return
                if found.st_ino != self._inode or found.st_size < self._offset:
                    self._inode, self._offset, self._rest = found.st_ino, 0, b""
                self.modified = found.st_mtime
                opened.seek(self._offset)
                new = opened.read(_MOST_AT_ONCE)
        except OSError:
            return
        self._offset += len(new)
        *whole, self._rest = (self._rest + new).split(b"\n")
        self.lines += [_line(text.decode(errors="replace")) for text in whole]


def find_logs(folder: Path, known: dict[str, Log]) -> None:
    """Adds the logs in a folder that are not yet known.

    Raises:
        OSError: the folder cannot be listed.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            match = _NAME.fullmatch(entry.name)
            if match and entry.name not in known and entry.is_file(follow_symlinks=False):
                known[entry.name] = Log(Path(entry.path), bool(match[1]), match[2], int(match[3]), int(match[4]))


@dataclass(frozen=True)
class Answer:
    """The answer of one process to the last request, from its log.

    Attributes:
        asked: the start_step that it read; None: it has not read the request.
        is_reset: it does not support that start_step, and used 0.
        left_out: its rank was not requested.
        started, stopped: number of its finished steps when profiling began and ended.
    """

    asked: int | None = None
    is_reset: bool = False
    left_out: bool = False
    started: int | None = None
    stopped: int | None = None


_ASKED = re.compile(r"Start step will be set to (-?\d{1,18})\.")
_STARTED = re.compile(r"Start Dynamic Profiler at (\d{1,18}) step\.")
_STOPPED = re.compile(r"Stop Dynamic Profiler at (\d{1,18}) step\.")
_INTERVAL = re.compile(r"Dynamic profiling monitor process poll interval time change to (\d{1,6})s")


def answer(lines: list[Line]) -> Answer:
    """The answer of a process, from its log lines since the request."""
    asked = started = stopped = None
    is_reset = will_reset = left_out = False
    for line in lines:
        text = line.text
        if match := _ASKED.fullmatch(text):
            asked, started, stopped = int(match[1]), None, None
            is_reset, will_reset, left_out = will_reset, False, False
        elif match := _STARTED.fullmatch(text):
            started = int(match[1]) if asked is not None else None
        elif match := _STOPPED.fullmatch(text):
            # A profile that was running when the request came ends between the request and its own start.
            stopped = int(match[1]) if started is not None else None
        elif text.startswith("Start step is not valid"):
            will_reset = True
        elif "not in valid rank_list" in text:
            left_out = True
    return Answer(asked, is_reset, left_out, started, stopped)


def poll_interval(lines: list[Line]) -> int:
    """Seconds between two reads of the file: at first 2; from the eleventh step on a step's duration, at least 1."""
    found = [int(match[1]) for line in lines if (match := _INTERVAL.fullmatch(line.text))]
    return found[-1] if found else 2


def steps_done(lines: list[Line]) -> int:
    """The minimum number of steps that a process has finished."""
    found = [
        int(match[1]) for line in lines if (match := _STARTED.fullmatch(line.text) or _STOPPED.fullmatch(line.text))
    ]
    return max([*found, 11 if any(_INTERVAL.fullmatch(line.text) for line in lines) else 0])


def is_bystander(lines: list[Line]) -> bool:
    """Whether a process only starts others (torchrun) and does not poll."""
    texts = [line.text for line in lines]
    return any("no need to create process" in text for text in texts) and not any(
        "shared memory is" in text for text in texts
    )


def _line(text: str) -> Line:
    match = _LINE.fullmatch(text.rstrip("\r"))
    return Line(match[1], match[2]) if match else Line("", text.strip())


def _inode(path: Path) -> int | None:
    try:
        return path.stat(follow_symlinks=False).st_ino
    except OSError:
        return None
