"""Reads documents that others wrote, within limits: a pipe, a device or 5 GB of zeros must not stop a command.

Everything that is read as a whole and then parsed (a policy, ``diff.json``, …) is read by ``read``. Larger inputs are
read in parts by their sources, each with limits of its own.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

MOST_DOCUMENT_BYTES = 256 * 2**20
"""Largest ``diff.json`` that is read. Those that rlcompare writes have at most half of it."""

MOST_SETTINGS_BYTES = 2**20
"""Largest policy file. One rule takes about 100 bytes."""

MOST_VALUES = 10_000_000
"""Most values in a document: Python takes about 100 bytes for each, however few bytes the text has."""

_OWN_STREAMS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Pipes that the user connected to this process: ``rlcompare diff --json … | rlcompare gate /dev/stdin``."""

_HOW = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Without O_NONBLOCK, opening a FIFO that took the file's place in the meantime would wait for a writer. Without
O_BINARY, Windows would end the text at a Ctrl-Z."""

_CHUNK = 2**20
_LARGEST = 1 << 1023
_DEEPEST = 100
_DIGITS = "it has a number of more than 300 digits"
_NESTED = "it is nested too deeply"


class RefusedError(ValueError):
    """A document cannot be read.

    Attributes:
        problem: why, as a clause without a full stop.
    """

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(problem)


def read(path: Path, most_bytes: int) -> bytes:
    """The content of a file.

    Raises:
        RefusedError: it cannot be read, is no regular file, or is larger than ``most_bytes``.
    """
    try:
        _check(path.stat(), path, most_bytes)
        with os.fdopen(os.open(path, _HOW), "rb") as file:
            status = os.fstat(file.fileno())
            _check(status, path, most_bytes)
            if stat.S_ISFIFO(status.st_mode):
                os.set_blocking(file.fileno(), True)
            # In parts: read(n) would take memory for n bytes at once.
            parts, size = [], 0
            while size <= most_bytes and (part := file.read(_CHUNK)):
                parts.append(part)
                size += len(part)
    except OSError as error:
        raise RefusedError(error.strerror or str(error)) from error
    if size > most_bytes:
        raise RefusedError(_too_large(most_bytes))
    return b"".join(parts)


def _check(status: os.stat_result, path: Path, most_bytes: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise RefusedError("it is a folder, not a file")
    is_own = stat.S_ISFIFO(status.st_mode) and str(path).startswith(_OWN_STREAMS)
    if not stat.S_ISREG(status.st_mode) and not is_own:
        raise RefusedError("it is a pipe or a device, not a regular file")
    if status.st_size > most_bytes:
        raise RefusedError(_too_large(most_bytes))


def _too_large(most_bytes: int) -> str:
    return f"it is larger than {most_bytes // 2**20} MiB"


def parse_json(data: bytes) -> object:
    """The content of a JSON document.

    Raises:
        RefusedError: it is not valid JSON, or is beyond the limits.
    """
    if data.count(b",") + data.count(b"[") + data.count(b"{") > MOST_VALUES:
        raise RefusedError(f"it has more than {MOST_VALUES:,} values")
    try:
        return json.loads(data)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise RefusedError("it is not valid JSON") from error
    except RecursionError as error:
        raise RefusedError(_NESTED) from error
    except ValueError as error:  # Python converts no number of more than 4,300 digits
        raise RefusedError(_DIGITS) from error


def parse_toml(text: str) -> dict[str, Any]:
    """The content of a TOML document.

    Raises:
        RefusedError: it is not valid TOML, or is beyond the limits.
    """
    from rlcompare import toml  # most commands read none

    try:
        document = toml.loads(text)
    except toml.TOMLDecodeError as error:
        raise RefusedError(f"it is not valid TOML ({error})") from error
    except RecursionError as error:
        raise RefusedError(_NESTED) from error
    except ValueError as error:
        raise RefusedError(_DIGITS) from error
    _check_values(document)
    return document


def _check_values(document: dict[str, Any]) -> None:
    """Refuses what Python reads, but cannot print: numbers such as 0xFFF…, and keys such as a.a.a.…"""
    left: list[tuple[object, int]] = [(document, 0)]
    while left:
        value, depth = left.pop()
        if isinstance(value, int) and abs(value) > _LARGEST:
            raise RefusedError(_DIGITS)
        if depth > _DEEPEST:
            raise RefusedError(_NESTED)
        if isinstance(value, (dict, list)):
            left += [(inner, depth + 1) for inner in (value.values() if isinstance(value, dict) else value)]
