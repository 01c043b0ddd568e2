"""Checks and parses paths and sides as the user typed them."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rlcompare.errors import UsageError

ENGINES = ("local", "ray")
"""Names of the engines that can read captures."""

_LABELLED = re.compile(r"([\w.-]{1,60})=(.+)", re.DOTALL)


def _is_utf8(path: str) -> bool:
    """Whether the bytes of a path are the UTF-8 that DuckDB makes of it. Python decodes paths by the locale."""
    try:
        return os.fsencode(path) == path.encode()
    except UnicodeEncodeError:
        return False


def problem_of_path(text: str) -> str | None:
    """Why a text cannot be a path, as a clause; None: it is valid."""
    if not text:
        return "the path is empty"
    if "\0" in text:
        return "the path contains a NUL character"
    if not _is_utf8(text):
        if sys.getfilesystemencoding() != "utf-8":
            return f"the path {text!r} cannot be passed to DuckDB in this locale: set PYTHONUTF8=1, or a UTF-8 locale"
        return f"the path {text!r} is not valid UTF-8, which DuckDB requires: rename it"
    try:
        os.lstat(text)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return f"the path {text[:60]!r}... is too long"
    return None


@dataclass(frozen=True)
class SidePaths:
    """One side as the user named it. ``label`` is None if the user gave none."""

    label: str | None
    paths: tuple[Path, ...]


def parse_side(option: str, values: Sequence[str]) -> SidePaths:
    """Reads the values of ``-d`` or ``-bp``: paths, each with an optional label before it (``cann83=PATH``).

    Raises:
        UsageError: two different labels for one side, or a text that cannot be a path.
    """
    labels: list[str] = []
    paths = []
    for value in values:
        problem = problem_of_path(value)
        if problem:
            raise UsageError(f"{option}: {problem}")
        match = _LABELLED.fullmatch(value)
        if match and not Path(value).exists():
            labels.append(match.group(1))
            paths.append(Path(match.group(2)))
        else:
            paths.append(Path(value))
    if len(set(labels)) > 1:
        raise UsageError(f"{option}: a side can have only one label, not {' and '.join(dict.fromkeys(labels))}")
    return SidePaths(labels[0] if labels else None, tuple(paths))


def split_commas(values: Sequence[str]) -> tuple[str, ...]:
    """The values of a repeatable option that also takes several at once, separated by commas; each once, in order."""
    return tuple(dict.fromkeys(part.strip() for value in values for part in value.split(",") if part.strip()))
