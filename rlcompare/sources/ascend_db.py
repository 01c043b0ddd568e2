"""Reads ``ascend_pytorch_profiler_<rank>.db`` (schema 1.0 and 1.2) and ``analysis.db`` into the store's tables.

The work is done by SQL over DuckDB's sqlite scanner (``sql/sources/ascend_db``): this module decides which tables are
there, keeps the input untouched, and turns damage into findings. A table that is absent is read from an empty stand-in
database instead, so that every statement is the same for every schema.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from rlcompare import resources
from rlcompare.errors import InputError
from rlcompare.model.run import CaptureInput, Finding
from rlcompare.sources.communication_group import load_groups
from rlcompare.sources.env import environment_from_metadata
from rlcompare.store import database

Report = Callable[[Finding], None]
Failure = tuple[str, str]
"""A table or a statement of ours, and why it could not be read."""

SQLITE_MAGIC = b"SQLite format 3\x00"

# In the order in which they build upon each other.
FILL = (
    "step", "window", "text", "task", "framework", "host_op", "host_op_by_connection", "module", "range",
    "forget_framework", "launch", "cube", "compute", "compute_text", "kernel", "collective_task", "collective", "copy",
    "device_window", "host_api", "memory", "allocation", "gc", "pmu", "stack", "capture", "chip",
)  # fmt: skip
FILL_AS_TEXT = ("counter",)
"""Statements that read NUMERIC time stamps, which would arrive as DOUBLE and lose nanoseconds."""

QUERIED = ("PYTORCH_API", "TASK_PMU_INFO")
"""Tables of which SQLite itself chooses the rows, in attached databases ``profile_<table>``: to hand over millions that
are not used takes longer than to read them. Of tables that are used whole, the scanner is twice as fast."""

ANALYSIS_TABLES = ("StepTraceTime", "CommAnalyzerMatrix")


def fill(con: duckdb.DuckDBPyConnection, capture: CaptureInput, capture_id: int, report: Report) -> None:
    """Read one capture into the stage and event tables; the variable ``capture`` is set by the caller.

    Raises:
        InputError: the database cannot be opened at all, or nothing in it can be read.
    """
    with tempfile.TemporaryDirectory(prefix="rlcompare-") as scratch:
        stub = _make_stub(Path(scratch))
        con.execute("SET VARIABLE stub_db = ?", [str(stub)])
        copy = readable_copy(capture.files["db"], Path(scratch))
        present = tables_of(capture.files["db"], copy)
        failures = _bind(con, copy, present, stub)
        load_groups(con, capture.metadata or _groups_in_database(con))
        with _queried(con, copy, present, stub):
            _read(con, capture, capture_id, failures, report)
        con.execute(resources.sql("sources/ascend_db/clear"))
        read_analysis(con, capture, capture_id, report, Path(scratch))


def read_analysis(
    con: duckdb.DuckDBPyConnection, capture: CaptureInput, capture_id: int, report: Report, scratch: Path
) -> None:
    """Read what ``analysis.db`` reports, if there is one; damage is a finding, for all else stands without it."""
    path = capture.files.get("analysis_db")
    if path is None:
        return
    try:
        copy = readable_copy(path, scratch)
        stub = _make_stub(scratch)
        con.execute("SET VARIABLE stub_db = ?", [str(stub)])
        _bind(con, copy, tables_of(path, copy) & set(ANALYSIS_TABLES), stub)
        con.execute(resources.sql("sources/ascend_db/analysis"))
    except (InputError, duckdb.Error) as error:
        report(Finding("warning", "unreadable_file", f"{path.name} was left out: {_first_line(error)}", capture_id))


def readable_copy(path: Path, scratch: Path) -> Path:
    """The database itself, or a private copy of it where opening it would write beside it.

    A database in WAL mode (bytes 18 and 19 of the header) gets ``-wal`` and ``-shm`` files even from a read-only
    connection, and one with a rollback journal beside it would be rolled back.

    Raises:
        InputError: the file cannot be read or is no SQLite database.
    """
    try:
        with path.open("rb") as handle:
            header = handle.read(100)
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "Check the path and its permissions") from error
    if header[:16] != SQLITE_MAGIC or len(header) < 100:
        raise InputError(path, "is not an SQLite database, or was cut off", "Copy it again, or parse the profile again")
    beside = [path.with_name(path.name + suffix) for suffix in ("-wal", "-journal")]
    if header[18:20] != b"\x02\x02" and not any(file.exists() for file in beside):
        return path
    copy = scratch / f"copy-of-{path.name}"
    for source in (path, *beside):
        if source.exists():
            shutil.copyfile(source, copy.with_name(f"copy-of-{source.name}"))
    return copy


def tables_of(path: Path, copy: Path) -> set[str]:
    """Names of the tables in a database.

    Args:
        path: the file that the user knows, for the message.
        copy: the file to open: ``path`` or its private copy.

    Raises:
        InputError: it is damaged or locked.
    """
    try:
        with _open_sqlite(copy) as con:
            return {name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
    except sqlite3.Error as error:
        if "locked" in str(error) or "busy" in str(error):
            problem = "is locked by a process that writes to it"
            raise InputError(path, problem, "Wait until parsing has ended") from error
        raise InputError(path, f"is damaged ({error})", "Copy it again, or parse the profile again") from error


@contextmanager
def _open_sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    con = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=1.0)
    try:
        yield con
    finally:
        con.close()


def _make_stub(scratch: Path) -> Path:
    stub = scratch / "stub.db"
    if not stub.exists():
        con = sqlite3.connect(stub)
        con.executescript(f"BEGIN; {resources.sql('sources/ascend_db/stub')} COMMIT")
        con.close()
    return stub


def _bind(con: duckdb.DuckDBPyConnection, copy: Path, present: set[str], stub: Path) -> list[Failure]:
    """Point every view at the database where it has the table and it can be opened, else at the empty stand-in."""
    failures = []
    for view in resources.sql_names("sources/ascend_db/view"):
        table = view.rsplit("/", 1)[1]
        # The variable's name comes from our own files, never from a profile.
        con.execute(f"SET VARIABLE db_{table} = ?", [str(copy if table in present else stub)])
        try:
            con.execute(resources.sql(view))
        except duckdb.Error as error:
            failures.append((table, _first_line(error)))
            con.execute(f"SET VARIABLE db_{table} = ?", [str(stub)])
            con.execute(resources.sql(view))
    return failures


@contextmanager
def _queried(con: duckdb.DuckDBPyConnection, copy: Path, present: set[str], stub: Path) -> Iterator[None]:
    """The tables of ``QUERIED`` as attached databases, for as long as they are read."""
    for table in QUERIED:
        database.attach_sqlite(con, copy if table in present else stub, f"profile_{table}")
    try:
        yield
    finally:
        for table in QUERIED:
            con.execute(f"DETACH profile_{table}")


def _read(
    con: duckdb.DuckDBPyConnection, capture: CaptureInput, capture_id: int, failures: list[Failure], report: Report
) -> None:
    path = capture.files["db"]
    con.execute(resources.sql("sources/ascend_db/scalars"))
    for name in FILL:
        failure = _execute(con, name)
        if failure and name == "text":
            failure = _decode_texts(con, report, path, capture_id)
        failures += [failure] if failure else []
    con.execute("SET sqlite_all_varchar = true")
    failures += [failure for name in FILL_AS_TEXT if (failure := _execute(con, name))]
    con.execute("SET sqlite_all_varchar = false")
    if failures:
        lost = ", ".join(name for name, _ in failures)
        message = f"{path.name} is damaged ({failures[0][1]}): what could be read is used, without {lost}"
        report(Finding("warning", "damaged_database", message, capture_id))
    _insert_environment(con, capture_id)
    for severity, key, message in _findings(con):
        report(Finding(severity, key, f"{path.name}: {message}", capture_id))


def _execute(con: duckdb.DuckDBPyConnection, name: str) -> Failure | None:
    """Run one of our SQL files; its name and the reason where it fails."""
    try:
        _fetch(con, f"sources/ascend_db/{name}")
    except (duckdb.Error, UnicodeError) as error:
        return name, _first_line(error)
    return None


def _decode_texts(con: duckdb.DuckDBPyConnection, report: Report, path: Path, capture_id: int) -> Failure | None:
    """Make ``text_by_id`` where a text is no UTF-8, which stops the scanner: such bytes are replaced."""
    import pyarrow

    ((database_path,),) = con.execute("SELECT getvariable('db_STRING_IDS')").fetchall()
    try:
        with _open_sqlite(Path(database_path)) as source:
            source.text_factory = lambda raw: raw.decode("utf-8", "replace")
            ids, texts = zip(*source.execute("SELECT id, CAST(value AS TEXT) FROM STRING_IDS"), strict=True)
    except (sqlite3.Error, ValueError) as error:
        return "text", _first_line(error)
    con.register("decoded_texts", pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "value": texts}))
    database.run(con, resources.sql("sources/ascend_db/decoded_text"))
    con.unregister("decoded_texts")
    odd = sum("\ufffd" in (text or "") for text in texts)
    message = f"{path.name}: {odd} texts are no UTF-8; what cannot be decoded is shown as \ufffd"
    report(Finding("warning", "undecodable_text", message, capture_id))
    return None


def _fetch(con: duckdb.DuckDBPyConnection, name: str) -> list[tuple[Any, ...]]:
    """The rows of one of our SQL files.

    A value whose type is not that of its column stops the scanner: then the same statement reads everything as text,
    and the views' casts turn the odd value alone into NULL.
    """
    rows: list[tuple[Any, ...]] = []
    for statement in con.extract_statements(resources.sql(name)):
        try:
            rows = database.run(con, statement)
        except duckdb.TypeMismatchException:
            con.execute("SET sqlite_all_varchar = true")
            try:
                rows = database.run(con, statement)
            finally:
                con.execute("SET sqlite_all_varchar = false")
    return rows


def _groups_in_database(con: duckdb.DuckDBPyConnection) -> dict[str, object]:
    """The communication groups that META_DATA repeats, for a database that lies alone."""
    try:
        rows = dict(_fetch(con, "sources/ascend_db/metadata"))
        return {"parallel_group_info": json.loads(rows.get("parallel_group_info") or "{}")}
    except (duckdb.Error, ValueError, RecursionError):
        return {}


def _insert_environment(con: duckdb.DuckDBPyConnection, capture_id: int) -> None:
    try:
        rows = _fetch(con, "sources/ascend_db/metadata")
    except duckdb.Error:
        return  # said by the finding about the damaged database
    known = {key for (key,) in con.execute("SELECT key FROM env WHERE capture = ?", [capture_id]).fetchall()}
    for key, value in environment_from_metadata(rows).items():
        if key not in known:
            con.execute("INSERT INTO env VALUES (?, ?, ?)", [capture_id, key, value])


def _findings(con: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    try:
        return _fetch(con, "sources/ascend_db/findings")
    except duckdb.Error:
        return []  # said by the finding about the damaged database


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:300]
