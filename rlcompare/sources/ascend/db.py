"""Reads ``ascend_pytorch_profiler_<rank>.db`` (schema 1.0 and 1.2) and ``analysis.db`` into the store's tables.

SQL over DuckDB's sqlite scanner does the work (``sql/sources/ascend_db``). This module finds the existing tables, keeps
the input unchanged, and turns damage into findings. An absent table is read from an empty stand-in database, so that
every statement works with every schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from rlcompare import db, resources, temporary
from rlcompare.db import first_line
from rlcompare.errors import InputError, may_pass
from rlcompare.model.run import CaptureInput, Finding
from rlcompare.sources.ascend.communication_group import load_groups
from rlcompare.sources.ascend.merge import NUMBER, Layout, UnmergeableError, layout_of, merge
from rlcompare.sources.env import environment_from_metadata
from rlcompare.sources.sqlite_input import (
    UNREADABLE,
    Failure,
    attempt,
    bind,
    damaged,
    decode_texts,
    fetch_or_note,
    has_undecodable,
    is_readable_in_place,
    readable_copy,
    stand_in,
    tables_of,
    undecodable,
)

Report = Callable[[Finding], None]

SOURCE = "ascend_db"

AS_TEXT = ("sources/ascend_db/counter", "sources/ascend_db/network")
"""SQL files that read NUMERIC time stamps. These would otherwise arrive as DOUBLE and lose nanoseconds."""

QUERIED = ("PYTORCH_API", "TASK_PMU_INFO")
"""Tables whose rows are selected by SQLite itself, in attached databases ``profile_<table>``: transferring millions of
unused rows would take longer than reading them. For tables that are used whole, the scanner is twice as fast."""

ANALYSIS_TABLES = ("StepTraceTime", "CommAnalyzerMatrix")
_OF_ANALYSIS = ("sources/ascend_db/analysis_step", "sources/ascend_db/analysis_link")
_VIEWS = {view.rsplit("/", 1)[1] for view in resources.sql_names("sources/ascend_db/view")}
TABLES = tuple(sorted((_VIEWS | set(QUERIED)) - set(ANALYSIS_TABLES)))
"""The tables of a profile's own database."""


def fill(con: duckdb.DuckDBPyConnection, capture: CaptureInput, capture_id: int, report: Report) -> None:
    """Reads one capture into the stage and event tables. The caller sets the variable ``capture``.

    Raises:
        InputError: the database cannot be opened at all, or no part of it can be read.
    """
    con.execute(resources.sql("sources/ascend_db/clear"))  # a failed capture may have left rows
    with temporary.folder() as scratch:
        copy = readable_copy(capture.files["db"], Path(scratch))
        present = tables_of(capture.files["db"], copy)
        _choose(con, [capture_id], merged=False)
        failures, empty = bind(con, SOURCE, copy, present, TABLES)
        groups = capture.metadata or _groups_in_database(con, failures).get(capture_id, {})
        load_groups(con, {capture_id: groups})
        with _queried(con, copy, present, Path(scratch)):
            _read(con, capture, capture_id, copy, failures, empty, report)
        con.execute(resources.sql("sources/ascend_db/clear"))
        read_analysis(con, capture, capture_id, report, Path(scratch))


def fill_together(
    con: duckdb.DuckDBPyConnection, captures: Mapping[int, CaptureInput], report: Callable[[int, Finding], None]
) -> set[int]:
    """Reads small captures with one pass of all statements.

    Args:
        con: as for ``fill``, without the variable ``capture``.
        captures: by their numbers in the store; all their steps are read.
        report: called for each problem, with the capture's number.

    Returns:
        The captures that were read. Read the others with ``fill``, and all of them if this raises; ``fill`` handles
        damage. Some of their rows may already have been inserted.

    Raises:
        duckdb.Error, UnicodeError: one of them has a problem.
    """
    con.execute(resources.sql("sources/ascend_db/clear"))  # a failed capture may have left rows
    done: set[int] = set()
    keep_events = bool(con.execute("SELECT getvariable('keep_events')").fetchall()[0][0])
    for layout, databases in _alike({number: capture.files["db"] for number, capture in captures.items()}, TABLES):
        with temporary.folder() as folder:
            scratch = Path(folder)
            numbers = merge(databases, layout, scratch / "merged.db", keep_events=keep_events)
            if len(numbers) > 1:
                _read_merged(con, {number: captures[number] for number in numbers}, layout, scratch, report)
                done |= set(numbers)
    return done


def _alike(databases: Mapping[int, Path], tables: Sequence[str]) -> list[tuple[Layout, dict[int, Path]]]:
    """Databases that can be merged, grouped by layout. Those that must be read alone are left out."""
    groups: dict[object, tuple[Layout, dict[int, Path]]] = {}
    for number, path in databases.items():
        # A database with a write-ahead log is read alone, from a private copy.
        with suppress(UnmergeableError, InputError):
            if is_readable_in_place(path):
                layout, rest = layout_of(path, tables)
                groups.setdefault((layout, rest), (layout, {}))[1][number] = path
    return [group for group in groups.values() if len(group[1]) > 1]


def _read_merged(
    con: duckdb.DuckDBPyConnection,
    captures: Mapping[int, CaptureInput],
    layout: Layout,
    scratch: Path,
    report: Callable[[int, Finding], None],
) -> None:
    copy = scratch / "merged.db"
    _choose(con, list(captures), merged=True)
    present = {table for table, _ in layout}
    failures, empty = bind(con, SOURCE, copy, present, TABLES)
    _expect_none(failures)
    listed = {} if all(capture.metadata for capture in captures.values()) else _groups_in_database(con, failures)
    load_groups(con, {number: capture.metadata or listed.get(number, {}) for number, capture in captures.items()})
    with _queried(con, copy, present, scratch):
        for name in resources.sql_order("sources/ascend_db"):
            _expect_none(_run(con, name, empty))
        if has_undecodable(con, "text_by_id"):
            raise UnicodeError
        _insert_environment(con, failures)
        found = fetch_or_note(con, "sources/ascend_db/findings", failures)
        _expect_none(failures)
        for number, severity, key, message in found:
            report(number, Finding(severity, key, f"{captures[number].files['db'].name}: {message}"))
    con.execute(resources.sql("sources/ascend_db/clear"))
    _read_analyses(con, captures, scratch, report)


def _expect_none(failures: Sequence[Failure]) -> None:
    if failures:
        raise UnicodeError(*failures[0])


def _choose(con: duckdb.DuckDBPyConnection, numbers: Sequence[int], *, merged: bool) -> None:
    """Sets which captures are read, and whether they are merged into one database."""
    db.set_variable(con, "merged", merged)
    db.set_variable(con, "capture_column", NUMBER if merged else "NULL")
    db.set_variable(con, "captures", list(numbers), "INTEGER[]")


def _read_analyses(
    con: duckdb.DuckDBPyConnection,
    captures: Mapping[int, CaptureInput],
    scratch: Path,
    report: Callable[[int, Finding], None],
) -> None:
    """Reads the data of each ``analysis.db``; several at once if they have the same layout."""
    paths = {
        number: capture.files["analysis_db"] for number, capture in captures.items() if "analysis_db" in capture.files
    }
    for place, (layout, databases) in enumerate(_alike(paths, ANALYSIS_TABLES)):
        merged = scratch / f"analysis-{place}.db"
        numbers = merge(databases, layout, merged, keep_events=True)
        _choose(con, numbers, merged=True)
        present = {table for table, _ in layout}
        failures, empty = bind(con, SOURCE, merged, present, ANALYSIS_TABLES)
        _expect_none(failures)
        for name in _OF_ANALYSIS:
            _expect_none(_run(con, name, empty))
        for number in numbers:
            del paths[number]
    for number in paths:
        db.set_variable(con, "capture", number)
        read_analysis(con, captures[number], number, partial(report, number), scratch)


def read_analysis(
    con: duckdb.DuckDBPyConnection, capture: CaptureInput, capture_id: int, report: Report, scratch: Path
) -> None:
    """Reads ``analysis.db``, if there is one. Damage becomes a finding, since everything else works without it."""
    path = capture.files.get("analysis_db")
    if path is None:
        return
    try:
        copy = readable_copy(path, scratch)
        _choose(con, [capture_id], merged=False)
        lost, empty = bind(con, SOURCE, copy, tables_of(path, copy), ANALYSIS_TABLES)
        for name in _OF_ANALYSIS:
            if not empty.skips(name):
                db.run(con, resources.sql(name))
        if lost:
            report(damaged(path, lost, capture_id))
    except db.NOT_THE_INPUT:
        raise
    except (InputError, *UNREADABLE) as error:
        message = f"{path.name} was left out: {first_line(error)}"
        report(Finding("warning", "unreadable_file", message, capture_id, may_pass(error)))


@contextmanager
def _queried(con: duckdb.DuckDBPyConnection, copy: Path, present: set[str], scratch: Path) -> Iterator[None]:
    """The tables of ``QUERIED`` as attached databases, while they are read."""
    for table in QUERIED:
        db.attach_sqlite(con, copy if table in present else stand_in(SOURCE, scratch), f"profile_{table}")
    try:
        yield
    finally:
        for table in QUERIED:
            con.execute(f"DETACH profile_{table}")


def _read(
    con: duckdb.DuckDBPyConnection,
    capture: CaptureInput,
    capture_id: int,
    copy: Path,
    failures: list[Failure],
    empty: resources.EmptyTables,
    report: Report,
) -> None:
    path = capture.files["db"]
    for name in resources.sql_order("sources/ascend_db"):
        failed = _run(con, name, empty)
        if name == "sources/ascend_db/text" and (failed or has_undecodable(con, "text_by_id")):
            failed = [failure] if (failure := _decode_texts(con, report, path, copy, capture_id)) else []
        if name == "sources/ascend_db/text" and not failed and _has_much_text(con):
            _run(con, "sources/ascend_db/short_text", empty)
        failures += failed
    _insert_environment(con, failures)
    found = fetch_or_note(con, "sources/ascend_db/findings", failures)
    if failures:
        report(damaged(path, failures, capture_id))
    for _, severity, key, message in found:
        report(Finding(severity, key, f"{path.name}: {message}", capture_id))


def _run(con: duckdb.DuckDBPyConnection, name: str, empty: resources.EmptyTables) -> list[Failure]:
    """Runs one of our SQL files; returns its failure, if any."""
    if name not in AS_TEXT:
        failure = attempt(con, name, empty)
    else:
        con.execute("SET sqlite_all_varchar = true")
        try:
            failure = attempt(con, name, empty)
        finally:
            con.execute("SET sqlite_all_varchar = false")
    return [failure] if failure else []


def _has_much_text(con: duckdb.DuckDBPyConnection) -> bool:
    query = "SELECT coalesce(sum(strlen(value)), 0) > getvariable('most_long_text') FROM text_by_id"
    return bool(con.execute(query).fetchall()[0][0])


def _decode_texts(
    con: duckdb.DuckDBPyConnection, report: Report, path: Path, copy: Path, capture_id: int
) -> Failure | None:
    """Creates ``text_by_id`` again if a text is not valid UTF-8."""
    odd = decode_texts(con, copy, "STRING_IDS", "sources/ascend_db/decoded_text")
    if not isinstance(odd, int):
        return odd
    report(undecodable(path, odd, capture_id))
    return None


def _groups_in_database(con: duckdb.DuckDBPyConnection, failures: list[Failure]) -> dict[int, dict[str, object]]:
    """The communication groups in META_DATA, by capture, for databases without other files."""
    groups: dict[int, dict[str, object]] = {}
    for capture, name, value in fetch_or_note(con, "sources/ascend_db/metadata", failures):
        if name == "parallel_group_info":
            with suppress(ValueError, RecursionError):
                groups[capture] = {name: json.loads(value or "{}")}
    return groups


def _insert_environment(con: duckdb.DuckDBPyConnection, failures: list[Failure]) -> None:
    """Adds data of META_DATA to the table ``env`` if the profile's other files do not have it."""
    rows: dict[int, list[tuple[Any, ...]]] = {}
    for capture, name, value in fetch_or_note(con, "sources/ascend_db/metadata", failures):
        rows.setdefault(capture, []).append((name, value))
    known = set(con.execute("SELECT capture, key FROM env").fetchall())
    found = [
        {"capture": capture, "key": key, "value": value}
        for capture, said in rows.items()
        for key, value in environment_from_metadata(said).items()
        if (capture, key) not in known
    ]
    if found:
        con.execute(resources.sql("store/env"), db.as_parameter(found))
