"""Reads ``ascend_pytorch_profiler_<rank>.db`` (schema 1.0 and 1.2) and ``analysis.db`` into the store's tables.

The work is done by SQL over DuckDB's sqlite scanner (``sql/sources/ascend_db``): this module decides which tables are
there, keeps the input untouched, and turns damage into findings. A table that is absent is read from an empty stand-in
database instead, so that every statement is the same for every schema.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from rlcompare import db, resources
from rlcompare.db import first_line
from rlcompare.errors import InputError
from rlcompare.model.run import CaptureInput, Finding
from rlcompare.sources.ascend.communication_group import load_groups
from rlcompare.sources.env import environment_from_metadata
from rlcompare.sources.sqlite_input import (
    UNREADABLE,
    Failure,
    attempt,
    bind,
    damaged,
    decode_texts,
    fetch,
    has_undecodable,
    readable_copy,
    stand_in,
    tables_of,
    undecodable,
)

Report = Callable[[Finding], None]

SOURCE = "ascend_db"

AS_TEXT = ("sources/ascend_db/counter",)
"""Files that read NUMERIC time stamps, which would arrive as DOUBLE and lose nanoseconds."""

QUERIED = ("PYTORCH_API", "TASK_PMU_INFO")
"""Tables of which SQLite itself chooses the rows, in attached databases ``profile_<table>``: to hand over millions that
are not used takes longer than to read them. Of tables that are used whole, the scanner is twice as fast."""

ANALYSIS_TABLES = ("StepTraceTime", "CommAnalyzerMatrix")


def fill(con: duckdb.DuckDBPyConnection, capture: CaptureInput, capture_id: int, report: Report) -> None:
    """Read one capture into the stage and event tables; the variable ``capture`` is set by the caller.

    Raises:
        InputError: the database cannot be opened at all, or nothing in it can be read.
    """
    con.execute(resources.sql("sources/ascend_db/clear"))  # one that failed may have left something
    with tempfile.TemporaryDirectory(prefix="rlcompare-") as scratch:
        copy = readable_copy(capture.files["db"], Path(scratch))
        present = tables_of(capture.files["db"], copy)
        failures = bind(con, SOURCE, copy, present, Path(scratch))
        load_groups(con, capture.metadata or _groups_in_database(con))
        with _queried(con, copy, present, stand_in(SOURCE, Path(scratch))):
            _read(con, capture, capture_id, failures, report)
        con.execute(resources.sql("sources/ascend_db/clear"))
        read_analysis(con, capture, capture_id, report, Path(scratch))


def read_analysis(
    con: duckdb.DuckDBPyConnection, capture: CaptureInput, capture_id: int, report: Report, scratch: Path
) -> None:
    """Read what ``analysis.db`` reports, if there is one; damage is a finding, as everything else works without it."""
    path = capture.files.get("analysis_db")
    if path is None:
        return
    try:
        copy = readable_copy(path, scratch)
        bind(con, SOURCE, copy, tables_of(path, copy) & set(ANALYSIS_TABLES), scratch)
        con.execute(resources.sql("sources/ascend_db/analysis"))
    except (InputError, *UNREADABLE) as error:
        report(Finding("warning", "unreadable_file", f"{path.name} was left out: {first_line(error)}", capture_id))


@contextmanager
def _queried(con: duckdb.DuckDBPyConnection, copy: Path, present: set[str], stub: Path) -> Iterator[None]:
    """The tables of ``QUERIED`` as attached databases, for as long as they are read."""
    for table in QUERIED:
        db.attach_sqlite(con, copy if table in present else stub, f"profile_{table}")
    try:
        yield
    finally:
        for table in QUERIED:
            con.execute(f"DETACH profile_{table}")


def _read(
    con: duckdb.DuckDBPyConnection, capture: CaptureInput, capture_id: int, failures: list[Failure], report: Report
) -> None:
    path = capture.files["db"]
    for name in resources.sql_order("sources/ascend_db"):
        if name in AS_TEXT:
            con.execute("SET sqlite_all_varchar = true")
        failure = attempt(con, name)
        if name in AS_TEXT:
            con.execute("SET sqlite_all_varchar = false")
        if name == "sources/ascend_db/text" and (failure or has_undecodable(con, "text_by_id")):
            failure = _decode_texts(con, report, path, capture_id)
        failures += [failure] if failure else []
    if failures:
        report(damaged(path, failures, capture_id))
    _insert_environment(con, capture_id)
    for severity, key, message in _findings(con):
        report(Finding(severity, key, f"{path.name}: {message}", capture_id))


def _decode_texts(con: duckdb.DuckDBPyConnection, report: Report, path: Path, capture_id: int) -> Failure | None:
    """Make ``text_by_id`` where a text is no UTF-8."""
    ((database_path,),) = con.execute("SELECT getvariable('db_STRING_IDS')").fetchall()
    odd = decode_texts(con, Path(database_path), "STRING_IDS", "sources/ascend_db/decoded_text")
    if not isinstance(odd, int):
        return odd
    report(undecodable(path, odd, capture_id))
    return None


def _groups_in_database(con: duckdb.DuckDBPyConnection) -> dict[str, object]:
    """The communication groups that META_DATA repeats, for a database that lies alone."""
    try:
        rows = dict(fetch(con, "sources/ascend_db/metadata"))
        return {"parallel_group_info": json.loads(rows.get("parallel_group_info") or "{}")}
    except (*UNREADABLE, ValueError, RecursionError):
        return {}


def _insert_environment(con: duckdb.DuckDBPyConnection, capture_id: int) -> None:
    try:
        rows = fetch(con, "sources/ascend_db/metadata")
    except UNREADABLE:
        return  # said by the finding about the damaged database
    known = {key for (key,) in con.execute("SELECT key FROM env WHERE capture = ?", [capture_id]).fetchall()}
    for key, value in environment_from_metadata(rows).items():
        if key not in known:
            con.execute("INSERT INTO env VALUES (?, ?, ?)", [capture_id, key, value])


def _findings(con: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    try:
        return fetch(con, "sources/ascend_db/findings")
    except UNREADABLE:
        return []  # said by the finding about the damaged database
