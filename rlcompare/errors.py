"""Every error that users see, and its exit code.

    RlcompareError
    ├── UsageError            2   the command line or the policy file is invalid
    ├── InputError            4   an input cannot be read: which file, why, what to do
    │   └── DamagedStoreError 4   a damaged store
    └── InstallationError    70   a file of rlcompare itself is missing

They are caught once, in ``cli/main.py``, which prints one line and exits with the code.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What the system says when a file cannot grow: never a fault of an input, whatever is being read."""

_PASSING_CODES = (
    errno.EACCES, errno.EAGAIN, errno.EBUSY, errno.ECONNABORTED, errno.ECONNRESET, errno.EHOSTUNREACH, errno.EIO,
    errno.EMFILE, errno.ENETDOWN, errno.ENETUNREACH, errno.ENFILE, errno.ENODEV, errno.ENOENT, errno.ENOMEM,
    errno.ENOTCONN, errno.ENXIO, errno.EPERM, errno.ESTALE, errno.ETIMEDOUT,
)  # fmt: skip
_PASSING = (
    " is locked",
    "disk I/O error",
    "unable to open database file",
    "No files found that match",
    *(said for said in map(os.strerror, _PASSING_CODES) if not said.startswith("Unknown error")),
)
"""What SQLite and DuckDB quote in their messages if the system refused a file."""

NO_MEMORY = (
    "not enough memory: free some, raise the limit of this process (ulimit -v) or of its container, "
    "or select fewer steps and ranks (--step, --rank)"
)


class ExitCode(IntEnum):
    """What a process that ran rlcompare can conclude from its exit status (docs/design.md §8)."""

    OK = 0
    """No regression (`gate`), or the comparison was made (`diff`)."""
    REGRESSION = 1
    """At least one rule of the policy failed."""
    USAGE = 2
    """Wrong usage: an option, a policy file, a step that does not exist."""
    INCONCLUSIVE = 3
    """The evidence does not decide."""
    INPUT = 4
    """An input could not be read, or a running job gave no profile."""
    NOT_COMPARABLE = 5
    """The two sides must not be compared."""


class RlcompareError(Exception):
    """An error with a message for the user and the exit code of the process."""

    exit_code = ExitCode.USAGE


def may_pass(error: BaseException | None) -> bool:
    """Whether the system failed, and not the content of an input, so that reading it again may succeed.

    An error of ours is judged by its cause. A library's message may quote an input; then an input is read once more
    than needed, and nothing else is wrong.
    """
    while isinstance(error, RlcompareError):
        error = error.__cause__
    if isinstance(error, OSError):
        return error.errno not in (None, errno.EFBIG)
    return error is not None and (isinstance(error, MemoryError) or says_it_may_pass(str(error)))


def says_it_may_pass(message: str) -> bool:
    """Whether a message of SQLite or DuckDB says that the system refused a file (``may_pass``)."""
    return any(said in message for said in _PASSING)


class UsageError(RlcompareError):
    """The request itself cannot be met; the message names the option and what would be valid.

    Args:
        reasons: if there are several, each is shown on its own line.
    """

    def __init__(self, message: str, reasons: Sequence[str] = ()) -> None:
        self.message = message
        self.reasons = tuple(reasons)
        super().__init__(f"{message}: {'; '.join(reasons)}" if reasons else message)


class OutputError(UsageError):
    """A file or folder of what was asked for could not be written.

    Args:
        path: the file or folder.
        problem: what is wrong, in one sentence without a full stop.
        remedy: what the user can do, in one sentence without a full stop.
    """

    def __init__(self, path: Path | str, problem: str, remedy: str) -> None:
        super().__init__(f"{path} cannot be written ({problem}): {remedy}")


class InputError(RlcompareError):
    """An input could not be read.

    Args:
        path: the file or folder at fault.
        problem: what is wrong with it, in one sentence without a full stop.
        remedy: what the user can do, in one sentence without a full stop.
    """

    exit_code = ExitCode.INPUT

    def __init__(self, path: Path | str, problem: str, remedy: str) -> None:
        self.path = Path(path)
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{path}: {problem}. {remedy}.")


class DamagedStoreError(InputError):
    """A store was opened, and a part of it cannot be read. One in the cache is made again (``app.stores.with_sound``).

    Args:
        store: the file.
        problem: what DuckDB says of it.
    """

    def __init__(self, store: Path, problem: str) -> None:
        remedy = "Rebuild it with rlcompare ingest, or delete it if it is in the cache"
        super().__init__(store, f"the store is damaged ({problem})", remedy)


class InstallationError(RlcompareError):
    """A file of rlcompare itself is missing or cannot be read: no input is at fault, so this is no ``OSError``."""
