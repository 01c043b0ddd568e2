"""Reads SQLite databases of other tools. Writes nothing next to them; missing tables and columns read as NULL.

Two sources use it (ascend, nsys). Each has an SQL file ``stub`` that creates every table and column that it reads,
empty, and a folder ``view`` with one view per table over both. So every statement works with every schema.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb

from rlcompare import db, resources
from rlcompare.db import NOT_THE_INPUT, first_line, quoted
from rlcompare.errors import InputError, says_it_may_pass
from rlcompare.model.run import Finding
from rlcompare.sources.blocks import check_room
from rlcompare.sources.content import DAMAGED, is_unfinished, journal_of, log_of, refuse_views
from rlcompare.sql_order import filled

MAGIC = b"SQLite format 3\x00"
_LOG_HEADER = 32
_READ_AS_ROLLBACK = 1
"""The read version of a database that is not in WAL mode (https://www.sqlite.org/fileformat.html)."""

Failure = tuple[str, str]
"""A table or one of our statements, and why it could not be read."""

UNREADABLE = (duckdb.Error, UnicodeError)
"""DuckDB's errors for a damaged database; UnicodeError if the error message quotes invalid UTF-8."""


def readable_copy(path: Path, scratch: Path) -> Path:
    """The database itself, or a private copy if opening it would write beside it.

    A journal is never copied: SQLite would undo the write with it, and delete a file that it may name.

    Raises:
        InputError: the file cannot be read, is not an SQLite database, or was not written to the end.
    """
    if is_readable_in_place(path):
        return path
    if is_unfinished(path):
        problem = f"is unfinished: a process was stopped while it wrote ({journal_of(path).name} is beside it)"
        raise InputError(path, problem, "Write it again (a profile: parse it again)")
    # In a folder of its own: another database's log beside the copy would be applied to it.
    folder = Path(tempfile.mkdtemp(dir=scratch))
    copy = folder / path.name
    for source, target in ((path, copy), (log_of(path), log_of(copy))):
        if source.is_file():
            check_room(target, source.stat().st_size)
            shutil.copyfile(source, target)
    return copy


def is_readable_in_place(path: Path) -> bool:
    """Whether opening a database, read-only, writes nothing beside it.

    A database in WAL mode gets ``-wal`` and ``-shm`` files even from a read-only connection, and one with a rollback
    journal beside it would be rolled back. How it is read, byte 19 of its header says alone.

    Raises:
        InputError: the file cannot be read or is not an SQLite database.
    """
    try:
        with path.open("rb") as handle:
            header = handle.read(100)
    except OSError as error:
        raise InputError(path, f"it cannot be read ({error.strerror})", "Check the path and its permissions") from error
    if header[:16] != MAGIC or len(header) < 100:
        problem = "it is not an SQLite database, or is truncated"
        raise InputError(path, problem, "Copy it again, or parse the profile again")
    return header[19] == _READ_AS_ROLLBACK and not log_of(path).exists() and not journal_of(path).exists()


def discards_log(copy: Path) -> bool:
    """Whether SQLite ignores the write-ahead log beside a private copy: it is damaged, or belongs to another database.

    Raises:
        sqlite3.Error: the database cannot be read.
    """
    log = log_of(copy)
    if not log.exists() or log.stat().st_size <= _LOG_HEADER:
        return False
    # Opened separately and for writing: the only way to check a log's frames is to write them to the copy.
    with closing(sqlite3.connect(copy, timeout=1.0)) as con:
        con.execute("SELECT count(*) FROM sqlite_master").fetchall()
        (_, frames, _) = con.execute("PRAGMA wal_checkpoint").fetchone()
    return int(frames) == 0


def tables_of(path: Path, copy: Path) -> set[str]:
    """Names of the tables in a database. Views are excluded: they are untrusted queries, which may never end.

    Args:
        path: the file that the user knows, for the message.
        copy: the file to open: ``path`` or its private copy.

    Raises:
        InputError: it is damaged or locked.
    """
    try:
        with open_sqlite(copy) as con:
            return {name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except DAMAGED as error:
        if "locked" in str(error) or "busy" in str(error):
            problem = "it is locked by a process that writes to it"
            raise InputError(path, problem, "Wait until parsing has ended") from error
        raise InputError(path, f"it is damaged ({error})", "Copy it again, or parse the profile again") from error


@contextmanager
def open_sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection to a file returned by ``readable_copy``."""
    con = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=1.0)
    try:
        refuse_views(con)
        yield con
    finally:
        con.close()


def bind(
    con: duckdb.DuckDBPyConnection, source: str, copy: Path, present: set[str], only: Sequence[str] | None = None
) -> tuple[list[Failure], resources.EmptyTables]:
    """Points every view at the database if the table has rows and can be opened there, else at our empty table.

    Args:
        source: the folder below ``sql/sources``.
        copy: the result of ``readable_copy``.
        present: the tables in the copy.
        only: the tables whose views are needed; None: all.

    Returns:
        The tables that cannot be read, and the views that have no rows.
    """
    _make_empty_tables(con, source)
    con.execute(f"SET VARIABLE sqlite_db = {quoted(copy.absolute())}")
    views = {view.rsplit("/", 1)[1]: view for view in resources.sql_names(f"sources/{source}/view")}
    needed = set(views if only is None else only) & present
    with_rows = _with_rows(copy, needed)
    failures, empty = [], set()
    for table, view in views.items():
        if only is not None and table not in only:
            continue
        if table in with_rows:
            try:
                con.execute(resources.sql(view))
                continue
            except UNREADABLE as error:
                failures.append((table, first_line(error)))
        con.execute(_without_database(view, source, table))
        empty.add(f"src_{table}")
    return failures, resources.EmptyTables(empty)


def _with_rows(copy: Path, tables: Iterable[str]) -> set[str]:
    """Those of our tables that have rows, as far as this can be read."""
    found = set()
    with open_sqlite(copy) as con:
        for table in tables:
            try:
                has_rows = con.execute(f'SELECT 1 FROM "{table}" LIMIT 1').fetchone() is not None  # noqa: S608
            except DAMAGED:
                has_rows = True
            found |= {table} if has_rows else set()
    return found


def _make_empty_tables(con: duckdb.DuckDBPyConnection, source: str) -> None:
    """Makes the empty tables of a source, once per connection. DuckDB plans nothing for what reads only these."""
    with closing(con.cursor()) as other:  # its search path changes
        try:
            other.execute(f"ATTACH ':memory:' AS stub_{source}")
        except duckdb.BinderException:  # it is there
            return
        other.execute(f"USE stub_{source}")
        other.execute(resources.sql(f"sources/{source}/stub"))


@cache
def _without_database(view: str, source: str, table: str) -> str:
    """The text of a view that reads the empty table only."""
    return resources.sql(view).replace(f"sqlite_scan(getvariable('sqlite_db'), '{table}')", f"stub_{source}.{table}")


def stand_in(source: str, scratch: Path) -> Path:
    """An SQLite database with the empty tables of a source, created when first needed."""
    stub = scratch / f"{source}-stub.db"
    if not stub.exists():
        try:
            with closing(sqlite3.connect(stub)) as con:
                con.executescript(f"BEGIN; {resources.sql(f'sources/{source}/stub')} COMMIT")
        except sqlite3.OperationalError as error:  # the stand-in is ours, so the cause must be the disk
            raise db.WriteError(stub, str(error)) from error
    return stub


def fetch(con: duckdb.DuckDBPyConnection, name: str, with_rows: set[str] | None = None) -> list[tuple[Any, ...]]:
    """The rows of one of our SQL files.

    A value whose type differs from its column's stops the scanner. Then the same statement reads everything as text,
    and the views' casts turn only the wrong value into NULL.

    Args:
        with_rows: as for ``db.run``.
    """
    rows: list[tuple[Any, ...]] = []
    for statement in con.extract_statements(resources.sql(name)):
        try:
            rows = db.run(con, statement, with_rows=with_rows)
        except (duckdb.TypeMismatchException, UnicodeDecodeError):  # the latter if the message quotes the value
            con.execute("SET sqlite_all_varchar = true")
            try:
                rows = db.run(con, statement, with_rows=with_rows)
            finally:
                con.execute("SET sqlite_all_varchar = false")
    return rows


def attempt(con: duckdb.DuckDBPyConnection, name: str, empty: resources.EmptyTables) -> Failure | None:
    """Runs one of our SQL files, its queries only if they may make rows; returns its name and the reason if it fails.

    Raises:
        duckdb.Error: the cause is not the database's content: interrupted, or out of memory.
    """
    failures: list[Failure] = []
    with_rows: set[str] = set()
    fetch_or_note(con, name, failures, with_rows, skipped=empty.skips(name))
    if failures:
        empty.forget(chain(*filled(resources.sql(name))))
        _make_missing_tables(con, name)
        return failures[0]
    empty.ran(name, with_rows)
    return None


def _make_missing_tables(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Makes the tables that a file of ours failed to make, empty, so that what else reads them gives what is left."""
    text = resources.sql(name).replace("CREATE OR REPLACE TEMP TABLE", "CREATE TEMP TABLE IF NOT EXISTS")
    for statement in con.extract_statements(text):
        if statement.type == duckdb.StatementType.CREATE:
            try:
                db.run_without_rows(con, statement.query)
            except NOT_THE_INPUT:
                raise
            except UNREADABLE:
                continue


def fetch_or_note(
    con: duckdb.DuckDBPyConnection,
    name: str,
    failures: list[Failure],
    with_rows: set[str] | None = None,
    *,
    skipped: bool = False,
) -> list[tuple[Any, ...]]:
    """The rows of one of our SQL files; if it fails, none, and its name and the reason are added to ``failures``.

    Args:
        with_rows: as for ``fetch``.
        skipped: whether its queries make no rows.

    Raises:
        duckdb.Error: as for ``attempt``.
    """
    try:
        if skipped:
            db.run_without_rows(con, resources.sql(name))
            return []
        return fetch(con, name, with_rows)
    except NOT_THE_INPUT:
        raise
    except UNREADABLE as error:
        failures.append((name.rsplit("/", 1)[1], first_line(error)))
        return []


def has_undecodable(con: duckdb.DuckDBPyConnection, table: str) -> bool:
    """Whether one of our own tables of texts holds invalid UTF-8."""
    return bool(con.execute(f"SELECT bool_or(undecodable) FROM {table}").fetchall()[0][0])  # noqa: S608


def decode_texts(con: duckdb.DuckDBPyConnection, path: Path, table: str, name: str) -> int | Failure:
    """Creates the table of texts again if one is not valid UTF-8: invalid bytes are replaced.

    Args:
        path: the database that has the table.
        table: one of our own names: the table with the columns ``id`` and ``value``.
        name: our SQL file that reads the registered table ``decoded_texts``.

    Returns:
        The number of invalid texts.
    """
    import pyarrow

    try:
        with open_sqlite(path) as source:
            source.text_factory = lambda raw: raw.decode("utf-8", "replace")
            query = f"SELECT id, CAST(value AS TEXT) FROM {table} WHERE typeof(id) = 'integer'"  # noqa: S608
            listed = source.execute(query).fetchall()
        ids = pyarrow.array([number for number, _ in listed], pyarrow.int64())
        texts = pyarrow.array([text for _, text in listed], pyarrow.string())
        con.register("decoded_texts", pyarrow.table({"id": ids, "value": texts}))
        db.run(con, resources.sql(name))
        con.unregister("decoded_texts")
    except NOT_THE_INPUT:
        raise
    except (sqlite3.Error, duckdb.Error, ValueError, TypeError) as error:
        return "text", first_line(error)
    return sum("\ufffd" in (text or "") for _, text in listed)


def damaged(path: Path, failures: Sequence[Failure], capture_id: int) -> Finding:
    """The finding for a database with at least one unreadable table or failed statement."""
    lost = ", ".join(dict.fromkeys(name for name, _ in failures))
    message = f"{path.name} is damaged ({failures[0][1]}): the readable part is used, without {lost}"
    passes = any(says_it_may_pass(reason) for _, reason in failures)
    return Finding("warning", "damaged_database", message, capture_id, passes)


def undecodable(path: Path, texts: int, capture_id: int) -> Finding:
    """The finding for texts that are not valid UTF-8."""
    message = f"{path.name}: {texts} texts are not valid UTF-8; bytes that cannot be decoded are shown as \ufffd"
    return Finding("warning", "undecodable_text", message, capture_id)
