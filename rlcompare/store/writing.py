"""Distinguishes files that cannot be written, inputs that cannot be read, and bugs in rlcompare."""

from __future__ import annotations

import errno
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from rlcompare.db import WriteError, file_and_reason
from rlcompare.errors import NO_MEMORY, NO_ROOM, InputError, OutputError, UsageError

TEMPORARY = "free some space there, or set TMPDIR to another folder"
"""What to do if temporary files cannot be written."""

_WRITING_FAILED = NO_ROOM | {errno.EROFS, errno.EISDIR, errno.ENAMETOOLONG}
_NO_SPILLING = re.compile(r"temp_directory|offload", re.IGNORECASE)
_REFUSED = re.compile(r"cannot open|permission|disk i/o|disk is full", re.IGNORECASE)


@contextmanager
def writing(target: Path, remedy: str) -> Iterator[None]:
    """Turns errors of the system while ``target`` is written into one line for the user.

    Args:
        target: the file, or the folder of the files.
        remedy: a clause that says what to do about it.

    Raises:
        OutputError: the target, or a temporary file, cannot be written.
        InputError: another file could not be read during this time.
        UsageError: there is not enough memory.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        # If a copy fails, the second name is the file that was being written.
        named = error.filename2 if isinstance(error.filename2, str) else error.filename
        at_fault = Path(named) if isinstance(named, str) else _without_room(target)
        raise _error(at_fault, reason, target, remedy, error.errno in _WRITING_FAILED) from error
    except WriteError as error:
        raise _error(error.path or target, error.reason, target, remedy, True) from error
    except sqlite3.OperationalError as error:  # it writes temporary files only
        if not _REFUSED.search(str(error)):
            raise
        raise _temporary(str(error)) from error
    except duckdb.OutOfMemoryException as error:
        if not _NO_SPILLING.search(str(error)):
            raise UsageError(NO_MEMORY) from error
        raise _temporary("out of memory, and the disk has no space left either") from error
    except duckdb.IOException as error:
        if not _REFUSED.search(str(error)):
            raise
        path, reason = file_and_reason(str(error))
        raise _error(path or target, reason, target, remedy, False) from error


def _error(path: Path, reason: str, target: Path, remedy: str, is_write: bool) -> OutputError | InputError:
    """The error to raise for a file that the system refused."""
    if _belongs(path, target) and remedy != TEMPORARY:
        return OutputError(target, reason, remedy)
    if path.is_relative_to(tempfile.gettempdir()):
        return _temporary(reason)
    if is_write:
        return OutputError(path, reason, remedy)
    return InputError(path, reason, "Check that it still exists and is readable")


def _temporary(reason: str) -> OutputError:
    return OutputError(f"a temporary file in {tempfile.gettempdir()}", reason, TEMPORARY)


def _without_room(target: Path) -> Path:
    """The place that is full, if the system names no file: the temporary folder or the target."""
    temporary = Path(tempfile.gettempdir())
    if temporary.stat().st_dev == target.parent.stat().st_dev:
        return temporary
    return min((temporary, target), key=lambda path: shutil.disk_usage(path if path == temporary else path.parent).free)


def _belongs(path: Path, target: Path) -> bool:
    """Whether a path is the target, is inside it, or is its temporary file (``.NAME.…``)."""
    path, target = path.absolute(), target.absolute()  # DuckDB names files by their absolute paths
    if path.is_relative_to(target) or target.is_relative_to(path):
        return True
    below = path.relative_to(target.parent).parts[:1] if path.is_relative_to(target.parent) else ()
    return any(part.startswith(f".{target.name}.") for part in below)
