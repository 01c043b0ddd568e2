"""Names of temporary files and folders. They name the process, so that a later command removes those of a killed one.

A name contains the *owner*: the process id, the time at which the process started, and a digest of host, boot, user
and namespaces (``4711-6151002-9f3c2a1b4d5e``). So another process knows whether the owner still runs:

* same host, boot, user and namespaces: the system knows the process, or a newer one has its id;
* elsewhere (another host of a shared file system, another container or user, before a reboot, not Linux): this is
  unknown: a file that has not changed for ``STALE_SECONDS`` is removed, a folder after ``STALE_FOLDER_SECONDS``.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
import uuid
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path

from rlcompare.errors import OutputError

PREFIX = "rlcompare-"
"""How the names of temporary folders begin."""

STALE_SECONDS = 24 * 3600
"""Age from which a file is removed although nobody knows whether its owner runs."""

STALE_FOLDER_SECONDS = 14 * 24 * 3600
"""The same for a folder: notebooks and training jobs use theirs for days without changing its entries."""

OWNER = r"\d{1,10}-\d{1,20}-[0-9a-f]{12}"
"""The pattern of an owner."""

_OWNER = re.compile(OWNER)
_TEMPORARY = re.compile(rf"(?:rlcompare-|\..*[.-])({OWNER})-[^.]*(?:\.partial)?(?:\.wal)?")
_ELSEWHERE = "0" * 12
_NAME_CHARACTERS = 40
"""How much of a target's name stands in a temporary one: file systems allow 255 bytes, and a character has up to 4."""
_AGAIN_SECONDS = 60.0
"""The folder for temporary files, which may hold thousands of others, is not looked through more often than this."""

_SYSTEM_FOLDERS = (
    "/tmp", "/var/tmp", "/usr/tmp",
    r"~\AppData\Local\Temp", r"%SYSTEMROOT%\Temp", r"c:\temp", r"c:\tmp", r"\temp", r"\tmp",
)  # fmt: skip
_swept: dict[str, float] = {}


def owner() -> str:
    """The owner that this process writes into names."""
    return _owner(os.getpid())  # another one after a fork


_FOLDERS: weakref.WeakKeyDictionary[object, weakref.finalize[..., object]] = weakref.WeakKeyDictionary()
"""What removes the folder of an object (``folder_of``)."""


@cache
def _owner(pid: int) -> str:
    start = _start_of(pid)
    return f"{pid}-{start or 0}-{_ELSEWHERE if start is None else _here()}"


def folder(prefix: str = PREFIX, parent: Path | None = None) -> tempfile.TemporaryDirectory[str]:
    """A temporary folder; those that killed processes left beside it are removed first.

    Args:
        prefix: ``PREFIX``, or for folders elsewhere something that begins with a dot and ends with a dot or a hyphen.
        parent: where to make it; default: the system's folder for temporary files.
    """
    if parent is None:
        sweep_system()
    else:
        sweep(parent)
    return tempfile.TemporaryDirectory(prefix=f"{prefix}{owner()}-", dir=parent, ignore_cleanup_errors=True)


def folder_of(owner: object) -> str:
    """A temporary folder that is removed with an object, or by ``remove_folder_of``; '' where none can be made."""
    try:
        made = folder()
    except (OSError, OutputError):
        return ""
    _FOLDERS[owner] = weakref.finalize(owner, made.cleanup)
    return made.name


def remove_folder_of(owner: object) -> None:
    """Removes the temporary folder of an object that somebody may still hold, such as the traceback of an error."""
    if (remove := _FOLDERS.pop(owner, None)) is not None:
        remove()


def partial_of(target: Path) -> Path:
    """The name of a file until it is complete; never used twice."""
    return target.with_name(f"{hidden(target)}{owner()}-{uuid.uuid4().hex[:8]}.partial")


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """The name of a file that replaces the target at the end, unless something fails; then it is removed.

    Nothing has that name yet. Opened with mode ``x``, nothing is written through a link that somebody else makes there.
    """
    partial = partial_of(target)
    partial.unlink(missing_ok=True)
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def hidden(target: Path) -> str:
    """How the names of temporary files and folders beside a target begin."""
    return f".{target.name[:_NAME_CHARACTERS]}."


def sweep_system() -> None:
    """Removes what killed processes of this user left in the system's folder for temporary files.

    Raises:
        OutputError: there is no such folder that can be written.
    """
    where = _system_folder()
    if time.monotonic() - _swept.get(where, float("-inf")) > _AGAIN_SECONDS:
        _swept[where] = time.monotonic()
        sweep(Path(where))


def _system_folder() -> str:
    """The system's folder for temporary files. Python falls back to the current folder, which may be an input."""
    with suppress(FileNotFoundError):
        where = tempfile.gettempdir()
        chosen = (*(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")), *_SYSTEM_FOLDERS)
        meant = [os.path.expandvars(os.path.expanduser(place)) for place in chosen if place]  # noqa: PTH111
        if not _are_one(where, os.curdir) or any(_are_one(where, place) for place in meant):
            return where
    raise OutputError("a temporary file", "no folder for temporary files is writable", "set TMPDIR to one that is")


def _are_one(folder: str, other: str) -> bool:
    try:
        return Path(folder).samefile(other)
    except OSError:  # one of them does not exist
        return False


def sweep(directory: Path) -> None:
    """Removes what killed processes of this user left in a folder; never raises for what the system refuses."""
    for path, status in _left(directory):
        if stat.S_ISDIR(status.st_mode):
            shutil.rmtree(path, ignore_errors=True)
        elif stat.S_ISREG(status.st_mode):
            with suppress(OSError):  # another process removed it
                path.unlink()


def is_left(name: str, modified: float, stale_seconds: float = STALE_SECONDS) -> bool:
    """Whether the process that is named in a file name has ended, as far as that is known.

    Args:
        modified: when the file changed last, in seconds since the epoch.
        stale_seconds: since when it must not have changed if nobody knows.
    """
    found = _OWNER.search(name)
    if found is None:
        return False
    pid, start, where = found[0].split("-")
    if where != _ELSEWHERE and where == _here():
        return _start_of(int(pid)) != int(start)
    return time.time() - modified > stale_seconds


def _left(directory: Path) -> Iterator[tuple[Path, os.stat_result]]:
    try:
        with os.scandir(directory) as entries:
            named = [entry.path for entry in entries if _TEMPORARY.fullmatch(entry.name)]
    except OSError:
        return
    user = os.getuid() if hasattr(os, "getuid") else None
    for path in map(Path, named):
        with suppress(OSError):  # another process removed it
            status = path.lstat()
            stale_seconds = STALE_FOLDER_SECONDS if stat.S_ISDIR(status.st_mode) else STALE_SECONDS
            if user in (None, status.st_uid) and is_left(path.name, status.st_mtime, stale_seconds):
                yield path, status


def _start_of(pid: int) -> int | None:
    """When a process started, in the system's clock ticks; None: there is none, it has ended, or nobody knows."""
    try:
        # The name of the program, in parentheses, may contain anything.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return None if fields[0] in (b"Z", b"X") else int(fields[19])
    except (OSError, ValueError, IndexError):
        return None


@cache
def _here() -> str:
    """A digest of this host, its boot, and of what decides which processes can be seen.

    Where ``/proc`` hides the processes of others (``hidepid``), those of another user, or of another container with the
    same process ids, look as if they had ended.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        namespaces = [str(Path("/proc/self/ns", name).readlink()) for name in ("pid", "user")]
        places = [os.uname().nodename, boot, *namespaces, str(os.getuid())]
    except (OSError, AttributeError):
        return _ELSEWHERE
    return blake2b("\n".join(places).encode(), digest_size=6).hexdigest()
