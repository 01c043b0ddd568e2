"""Tells a file that cannot be written from an input that cannot be read, and both from a fault of ours."""

from __future__ import annotations

import errno
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from rlcompare.errors import InputError, OutputError

_WRITING_FAILED = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EISDIR, errno.ENAMETOOLONG})
_REFUSED = re.compile(
    r"no space|could not write|cannot write|cannot open|too large|permission|read-only|quota|disk is full|disk i/o",
    re.IGNORECASE,
)


@contextmanager
def writing(target: Path, remedy: str) -> Iterator[None]:
    """Turns what the system refuses while files at or in ``target`` are written into one line for the user.

    Args:
        target: the file, or the folder of the files.
        remedy: a clause that says what to do about it.

    Raises:
        OutputError: the target, or a temporary file, cannot be written.
        InputError: another file could not be read meanwhile.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        at_fault = Path(error.filename) if isinstance(error.filename, str) else target
        if error.errno in _WRITING_FAILED or _belongs(at_fault, target):
            raise OutputError(target, reason, remedy) from error
        raise InputError(at_fault, reason, "Check that it is still there and may be read") from error
    except (duckdb.IOException, duckdb.FatalException, sqlite3.OperationalError) as error:
        reason = str(error).splitlines()[0]
        if not _REFUSED.search(reason):
            raise
        raise OutputError(target, reason, remedy) from error


def _belongs(path: Path, target: Path) -> bool:
    """Whether a path is the target, lies in it, or is what becomes of it when it is complete."""
    return path.is_relative_to(target) or path.name.startswith(f".{target.name}.") or target.is_relative_to(path)
