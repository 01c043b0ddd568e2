"""The processes of a job from ``/proc``: whether they are running, and torch_npu's messages in their output."""

from __future__ import annotations

import os
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from rlcompare.collect.attach.logs import Log

SHARED_MEMORY = Path("/dev/shm")
_MEMORY = re.compile(r"DynamicProfileNpuShm\d{10}")
_SILENCERS = ("PROFILING_MODE", "PROFILER_SAMPLECONFIG")
"""If one of these is set, torch_npu's profiler does nothing. It reports this only on standard output (since 2.13)."""
_SAID = re.compile(r"\[(WARNING|ERROR)\] \[(\d+)\] profiler\.py: (.*)")
_NO_RANK = "rank_id will be set to -1"
"""torch_npu repeats this message in a process without RANK, where it is harmless."""
_MOST_OUTPUT = 4 * 1024 * 1024


class Life(Enum):
    """Whether a process is running; UNKNOWN: it belongs to another machine or user."""

    ALIVE = "alive"
    GONE = "gone"
    UNKNOWN = "unknown"


def life_of(log: Log) -> Life:
    """Whether the process that writes a log is running. It keeps the log open; a later process with its id does not."""
    if log.host != socket.gethostname():
        return Life.UNKNOWN
    process = Path("/proc", str(log.pid))
    if not process.exists():
        return Life.GONE
    if not os.access(process / "fd", os.R_OK):
        return Life.UNKNOWN
    own = {_identity(log.path), _identity(log.older)} - {None}
    return Life.ALIVE if any(_identity(opened) in own for opened in _opened(log.pid)) else Life.GONE


def silencers(pid: int) -> list[str]:
    """The variables that disable the profiler and were set when a process started."""
    try:
        entries = Path("/proc", str(pid), "environ").read_bytes().split(b"\0")
    except OSError:
        return []
    found = (name for name in _SILENCERS for entry in entries if entry.startswith(f"{name}=".encode()))
    return [name for name in found if f"{name}=".encode() not in entries]


def memory_advice() -> str:
    """Lists dynamic_profile's shared memory on this machine, its users, and how to remove it.

    torch_npu names it after the hour, for all jobs of a machine. A poller survives a killed job and keeps it in use.
    """
    try:
        found = sorted(path for path in SHARED_MEMORY.iterdir() if _MEMORY.fullmatch(path.name))
    except OSError:
        found = []
    if not found:
        return f"There is no {SHARED_MEMORY}/DynamicProfileNpuShm* now"
    each = (f"{memory}: {_advice(memory, sorted(_users(memory)))}" for memory in found)
    return f"Shared memory here: {'; '.join(each)}"


def _advice(memory: Path, users: list[int]) -> str:
    if not users:
        return f"no process visible from here uses it; if `fuser {memory}` lists none either, rm {memory}"
    pollers = [(pid, folder) for pid in users for folder in _polled(pid)]
    if not pollers:
        return f"process {', '.join(map(str, users[:8]))} uses it but does not poll; rm {memory} after it has ended"
    return " and ".join(
        f"process {pid} polls {folder} for it, and a request there reaches every job that uses it"
        if _parent(pid) in users
        else f"process {pid}, left over from a killed job, polls {folder} for it; kill {pid} stops it"
        for pid, folder in pollers
    )


def _users(memory: Path) -> Iterator[int]:
    wanted = {_identity(memory)} - {None}
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and any(_identity(opened) in wanted for opened in _opened(int(process.name))):
            yield int(process.name)


def _polled(pid: int) -> set[Path]:
    """The folders that a process polls. It keeps its own monitor log open."""
    folders = set()
    for opened in _opened(pid):
        with suppress(OSError):
            target = opened.readlink()
            if target.name.startswith("monitor_dp_") and f"_{pid}_rank_" in target.name:
                folders.add(target.parent.parent)
    return folders


def _parent(pid: int) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        # The second field is the name in brackets, which may contain any characters.
        stat = Path("/proc", str(pid), "stat").read_bytes()
        return int(stat.rpartition(b")")[2].split()[1])
    return None


def _opened(pid: int) -> list[Path]:
    try:
        return list(Path("/proc", str(pid), "fd").iterdir())
    except OSError:
        return []


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def init_failure(pid: int) -> str:
    """Why ``dynamic_profile.init`` failed in a process, from its standard output; empty if unknown."""
    path = Path("/proc", str(pid), "fd", "1")
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return ""
        with path.open("rb") as opened:
            text = opened.read(_MOST_OUTPUT).decode(errors="replace")
    except OSError:
        return ""
    failed = (match[3] for match in _SAID.finditer(text) if int(match[2]) == pid)
    return next((message for message in failed if message.startswith("Call init failed")), "")


@dataclass
class Output:
    """Messages of torch_npu's profiler on a process's standard output, if that is a file.

    Some failures are reported only there and not in the logs.
    """

    pid: int
    said: list[str] = field(default_factory=list)
    _offset: int | None = None

    def read(self) -> None:
        """Reads output since the last call. The first call only marks the start."""
        path = Path("/proc", str(self.pid), "fd", "1")
        try:
            found = path.stat()
            if not stat.S_ISREG(found.st_mode):
                return
            if self._offset is None:
                self._offset = found.st_size
                return
            with path.open("rb") as opened:
                opened.seek(self._offset)
                whole, newline, _ = opened.read(_MOST_OUTPUT).rpartition(b"\n")
        except OSError:
            return
        self._offset += len(whole) + len(newline)
        for match in _SAID.finditer(whole.decode(errors="replace")):
            if int(match[2]) == self.pid and _NO_RANK not in match[3]:
                self.said.append(match[3])
