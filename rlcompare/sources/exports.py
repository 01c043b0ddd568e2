"""Reads files that ``export_stacks`` and ``export_memory_timeline`` wrote into a capture's folder (torch_npu or torch).

Both profilers write the same forms, under a name that the caller chose: one line per operator with its stack and its
microseconds (``.log``, ``.txt``), and the bytes per tensor category over time (``.json``, ``.json.gz``,
``.raw.json.gz``, or an image in ``.html``). A damaged export becomes a finding; the capture is used without it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import duckdb

from rlcompare import db, resources
from rlcompare.errors import may_pass
from rlcompare.model.run import CaptureInput, Finding
from rlcompare.model.size import in_binary_unit
from rlcompare.sources.peek import file_problem

STACKS = "stacks"
TIMELINE = "memory_timeline"

_STACKS_NAME = re.compile(r".*stacks?(?:[._-].*)?\.(?:log|txt)", re.IGNORECASE)
_TIMELINE_NAME = re.compile(r".*mem(?:ory)?_?timeline.*\.(json|json\.gz|html)", re.IGNORECASE)
_REMEDY = "export it again, or remove it"
_ROOM = 64
"""Maximum compression ratio of a timeline."""
_MOST_STACKS, _MOST_TIMELINE = 2**30, 2**28
"""Maximum bytes of an export. DuckDB reads a timeline as one object, and takes twice its size in memory."""


def with_exports(capture: CaptureInput, folders: Iterable[Path], notes: list[tuple[Path, Finding]]) -> CaptureInput:
    """A capture with the exports in its folders, one of each part.

    Args:
        notes: findings about exports that are not used are added here.

    Raises:
        OSError: a folder cannot be listed.
    """
    found: dict[str, Path] = {}
    for path in sorted((path for folder in folders for path in folder.iterdir()), key=_preference):
        part = part_of(path.name)
        if part is None or not os.path.lexists(path):  # it was removed in the meantime
            continue
        problem = _problem(path, found.get(part))
        if problem is None:
            found[part] = path
        else:
            severity = "warning" if part not in found else "info"
            notes.append((path, Finding(severity, "left_out_export", f"{path.name} was left out: {problem}")))
    return replace(capture, files={**capture.files, **found})


def part_of(name: str) -> str | None:
    """``STACKS`` or ``TIMELINE`` by the file's name; None for other files."""
    if _STACKS_NAME.fullmatch(name):
        return STACKS
    return TIMELINE if _TIMELINE_NAME.fullmatch(name) else None


def _preference(path: Path) -> tuple[int, int, str]:
    """Sort key: readable forms before pictures, and small forms before the raw form."""
    name = path.name.lower()
    kinds = (name.endswith(".html"), ".raw." in name, name.endswith(".gz"))
    return kinds.index(True) if True in kinds else -1, len(path.parts), str(path)


def _problem(path: Path, taken: Path | None) -> str | None:
    """Why an export is not read, as a clause; None: it is read."""
    if taken is not None:
        return f"{taken.name} was read instead, and this one may have other settings"
    if path.suffix.lower() == ".html":
        return "it is an image; export it as .json"
    problem = file_problem(path)
    return problem and f"{problem}; {_REMEDY}"


def fill(
    con: duckdb.DuckDBPyConnection, capture: CaptureInput, capture_id: int, report: Callable[[Finding], None]
) -> None:
    """Reads a capture's exports, if it has any, into ``exported_stack`` and ``memory_category``.

    Args:
        con: has the schema's tables and the variable ``capture``, equal to ``capture_id``.
        capture: its files ``STACKS`` and ``TIMELINE`` are read.
        capture_id: its number in the store.
        report: called for each damaged file.
    """
    for part, read, most in ((STACKS, _read_stacks, _MOST_STACKS), (TIMELINE, _read_timeline, _MOST_TIMELINE)):
        path = capture.files.get(part)
        if path is None:
            continue
        passes = False
        try:
            problem = _too_large(path, most) or read(con, path)
        except db.NOT_THE_INPUT:
            raise
        except (duckdb.Error, OSError) as error:
            problem = f"it was left out: {db.first_line(error).replace(str(path), path.name)}"
            passes = may_pass(error)
        con.execute(resources.sql("sources/exports/clear"))
        if problem:
            report(Finding("warning", "damaged_export", f"{path.name}: {problem}; {_REMEDY}", capture_id, passes))


def _too_large(path: Path, most_bytes: int) -> str | None:
    size, unit = in_binary_unit(most_bytes)
    return f"it was left out: it is larger than {size:g} {unit}" if path.stat().st_size > most_bytes else None


def _read_stacks(con: duckdb.DuckDBPyConnection, path: Path) -> str | None:
    db.set_variable(con, "stacks_file", db.pattern_of(path))
    ((other, known),) = db.run(con, resources.sql("sources/exports/stacks"))
    # Lines that are not text, or longer than DuckDB accepts.
    other += db.run(con, resources.sql("sources/ascend_text/rejected"))[0][0]
    con.execute(resources.sql("sources/ascend_text/forget_rejected"))
    if not known:
        return "it was left out: no line has a call stack and its time"
    return f"{other} of {other + known} lines were left out: export_stacks does not write such lines" if other else None


def _read_timeline(con: duckdb.DuckDBPyConnection, path: Path) -> str | None:
    room = path.stat().st_size * (_ROOM if path.suffix == ".gz" else 1) + 2**20
    db.set_variable(con, "timeline_file", db.pattern_of(path))
    db.set_variable(con, "timeline_bytes", min(room, _MOST_TIMELINE))
    ((sizes, negative),) = db.run(con, resources.sql("sources/exports/memory_timeline"))
    if not sizes:
        return "it was left out: it contains no memory of the requested device"
    return f"{negative} of {sizes} sizes were left out: they are negative" if negative else None
