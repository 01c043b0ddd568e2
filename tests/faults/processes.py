"""Runs command lines in processes that may be killed, and looks at what they leave.

A process is a fork of this one, which has imported everything that commands need: so a kill hits the work and not the
start of an interpreter. This process itself never uses DuckDB, whose threads a fork would lose.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import select
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

IS_LINUX = sys.platform == "linux"
_CREATED, _MOVED, _WRITTEN, _DELETED = 0x100, 0xC0, 0x8, 0x200


class Place:
    """A working folder with folders of its own for output, cache and temporary files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out, self.cache, self.tmp = folder / "out", folder / "cache", folder / "tmp"
        for path in (self.out, self.cache / "parts", self.tmp):
            path.mkdir(parents=True)
        (self.cache / ".rlcompare-cache").touch()

    def enter(self) -> None:
        """Makes this process work here."""
        os.chdir(self.folder)
        os.environ |= {"TMPDIR": str(self.tmp), "RLCOMPARE_CACHE_DIR": str(self.cache)}
        tempfile.tempdir = None

    def left(self) -> set[str]:
        """All files and folders, by their paths."""
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")} - {"said"}

    def orphans(self) -> list[str]:
        """Command lines of processes that were started here."""
        mark, found = f"TMPDIR={self.tmp}".encode(), []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (process / "environ").read_bytes() and not _is_zombie(process):
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        return found


def _is_zombie(process: Path) -> bool:
    return (process / "stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"


def start(place: Place, arguments: Sequence[object]) -> int:
    """Starts a command in a process group of its own; returns its id."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        os.setsid()
        place.enter()
        said = os.open("said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number in (1, 2):
            os.dup2(said, number)
        sys.argv = ["rlcompare", *map(str, arguments)]
        from rlcompare.cli.main import main

        main()
    except SystemExit as error:
        code = int(error.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def finish(pid: int) -> int:
    """The exit code of a process; -9 if it was killed."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run(place: Place, arguments: Sequence[object]) -> tuple[int, str]:
    """Runs a command to its end: its exit code and what it said."""
    code = finish(start(place, arguments))
    return code, (place.folder / "said").read_text(errors="replace")


def kill(pid: int) -> None:
    """Kills a process and its group."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with suppress(ProcessLookupError):  # it has no group of its own yet
        os.kill(pid, signal.SIGKILL)


def aside(work: Callable[[], Any]) -> Any:
    """The result of work in a fork."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reader)
        try:
            with os.fdopen(writer, "wb") as sink:
                pickle.dump(work(), sink)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, "rb") as source:
        content = source.read()
    assert finish(pid) == 0, "the work failed"
    return pickle.loads(content)


class Watch:
    """Counts what happens to the files of folders, as the system tells it."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        assert self._fd >= 0
        for folder in folders:
            mask = _CREATED | _MOVED | _WRITTEN | _DELETED
            assert self._libc.inotify_add_watch(self._fd, os.fsencode(folder), mask) >= 0

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def wait(self, events: int, pid: int, seconds: float = 120) -> int:
        """Waits for a number of events or the end of a process; returns how many there were."""
        seen, end = 0, time.monotonic() + seconds
        while seen < events and time.monotonic() < end:
            ready = select.select([self._fd], [], [], 0.02)[0]
            if not ready and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return seen + (self._read() if select.select([self._fd], [], [], 0)[0] else 0)
            seen += self._read() if ready else 0
        return seen

    def _read(self) -> int:
        data, place, number = os.read(self._fd, 1 << 16), 0, 0
        while place < len(data):
            place += 16 + struct.unpack_from("iIII", data, place)[3]
            number += 1
        return number
