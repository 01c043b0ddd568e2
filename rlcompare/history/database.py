"""Opens a history, in a DuckDB file or in PostgreSQL, for one transaction.

Both are attached to an in-memory DuckDB as ``history``, and the same statements run on both. The tables are in a schema
of their own. A DuckDB file can be open in one process if that writes, else in several: whoever finds it locked tries
again. In PostgreSQL, a writer locks the table of runs before it looks at anything.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import duckdb

from rlcompare import db, temporary
from rlcompare.errors import InputError, OutputError
from rlcompare.history.place import Place
from rlcompare.resources import sql, sql_order

SCHEMA_VERSION = 1
"""Version of the tables in ``sql/history/table``."""

NAME, SCHEMA = "history", "rlcompare"

WAIT_SECONDS = 60.0
"""How long to try while another process has the history open, or commits at the same time."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
_LOCKED = ("could not set lock", "conflicting lock", "being used by another process")
_AT_ONCE = (
    "duplicate key", "could not serialize", "deadlock detected", "already exists", "tuple concurrently",
    "too many clients", "remaining connection slots",
)  # fmt: skip
"""What the databases say if another process wrote at the same time, or if the server has no room at the moment."""

_REFUSED = re.compile(r"read-only file system|permission denied|no space left|quota|file too large", re.IGNORECASE)

_NEW_FILE = "BLOCK_SIZE 16384"
"""With DuckDB's default blocks of 256 KiB, a new history would take megabytes."""

Result = TypeVar("Result")
Work = Callable[[duckdb.DuckDBPyConnection], Result]


def write(place: Place, work: Work[Result]) -> Result:
    """The result of ``work``, which runs in a transaction. The history is created if necessary.

    If another process gets in between, ``work`` runs again.

    Raises:
        OutputError: the file cannot be written, or another process keeps it open.
        InputError: it is not a history of rlcompare, or the server refuses.
    """

    def attempt() -> Result:
        if place.file is not None and not place.file.exists():
            _make(place.file)
        with _opened(place, read_only=False) as con:
            _create(con, place)
            con.execute("BEGIN")
            if place.file is None:
                # Before the first SELECT, which fixes what the transaction sees.
                con.execute(f"CALL postgres_execute('{NAME}', 'LOCK TABLE {SCHEMA}.history_run IN EXCLUSIVE MODE')")
            result = work(con)
            con.execute("COMMIT")
            return result

    if place.file is not None:
        try:
            place.file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _not_written(place, error.strerror or str(error)) from error
    return _patiently(place, attempt, writing=True)


def read(place: Place, work: Work[Result]) -> Result:
    """The result of ``work``, which only reads.

    Raises:
        InputError: there is no history, it is not one of rlcompare, or the server refuses.
    """
    if place.file is not None and not place.file.exists():
        raise _absent(place)

    def attempt() -> Result:
        with _opened(place, read_only=True) as con:
            _check(con, place)
            con.execute(f"USE {NAME}.{SCHEMA}")
            return work(con)

    return _patiently(place, attempt, writing=False)


@contextmanager
def _opened(place: Place, *, read_only: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    con = db.connect(1, postgres=place.file is None)
    try:
        target = db.quoted(place.file.absolute() if place.file else str(place.url))
        options = "TYPE postgres" if place.file is None else "TYPE duckdb" if read_only else _NEW_FILE
        con.execute(f"ATTACH {target} AS {NAME} ({options}{', READ_ONLY' if read_only else ''})")
        if place.file is not None:
            con.execute("SET enable_external_access = false")
        con.execute("SET lock_configuration = true")
        yield con
    finally:
        with suppress(duckdb.Error):
            con.execute("ROLLBACK")
        db.close(con)


def _make(file: Path) -> None:
    """Makes a database without tables, which appears complete: what DuckDB makes in place is first an empty file.

    Another process that opened that file would refuse it, and the empty file would stay. Where this fails, nothing is
    made: opening the history says why.
    """
    temporary.sweep(file.parent)
    partial = temporary.partial_of(file)
    try:
        with db.closed(db.connect(1)) as con:
            con.execute(f"ATTACH {db.quoted(partial.absolute())} AS {NAME} ({_NEW_FILE})")
        os.link(partial, file)  # fails if another process was faster
    except duckdb.InterruptException:
        raise
    except (duckdb.Error, OSError):
        pass
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _create(con: duckdb.DuckDBPyConnection, place: Place) -> None:
    """Makes the tables that are missing."""
    _refuse_foreign(con, place)
    found = _tables(con)
    if found.issuperset(_names()):
        _check_columns(con, place)
    else:
        con.execute("BEGIN")
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {NAME}.{SCHEMA}")
        con.execute(f"USE {NAME}.{SCHEMA}")
        for name in sql_order("history/table"):
            con.execute(sql(name))
        if "history_meta" not in found:
            con.execute("INSERT INTO history_meta VALUES ('schema', ?)", [str(SCHEMA_VERSION)])
        con.execute("COMMIT")
    con.execute(f"USE {NAME}.{SCHEMA}")
    _check_version(con, place)


def _tables(con: duckdb.DuckDBPyConnection) -> set[str]:
    query = "SELECT table_name FROM duckdb_tables() WHERE database_name = ? AND schema_name = ?"
    return {name for (name,) in con.execute(query, [NAME, SCHEMA]).fetchall()}


def _names() -> set[str]:
    return {name.rpartition("/")[2] for name in sql_order("history/table")}


def _check(con: duckdb.DuckDBPyConnection, place: Place) -> None:
    _refuse_foreign(con, place)
    found = _tables(con)
    if not found:
        raise _absent(place)
    if not found.issuperset(_names()):
        raise _foreign(place)
    _check_columns(con, place)
    con.execute(f"USE {NAME}.{SCHEMA}")
    _check_version(con, place)


def _check_columns(con: duckdb.DuckDBPyConnection, place: Place) -> None:
    """Refuses a file whose tables lack a column of ours, or have it of another type, or with values of NULL."""
    if place.file is None:
        return
    for name in sql_order("history/table"):
        con.execute(sql(name))  # in memory
    own, found = (
        con.execute(
            "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() "
            "WHERE database_name = ? AND schema_name = ? AND starts_with(table_name, 'history_')",
            [database, schema],
        ).fetchall()
        for database, schema in (("memory", "main"), (NAME, SCHEMA))
    )
    if not set(own) <= set(found):
        raise _foreign(place)


def _refuse_foreign(con: duckdb.DuckDBPyConnection, place: Place) -> None:
    """Refuses a file that is something else, and one with views or macros, which would run foreign code."""
    if place.file is None:
        return
    foreign = con.execute(
        "SELECT view_name FROM duckdb_views() WHERE database_name = $name AND NOT internal "
        "UNION ALL SELECT function_name FROM duckdb_functions() WHERE database_name = $name AND NOT internal "
        "UNION ALL SELECT table_name FROM duckdb_tables() WHERE database_name = $name "
        "AND (schema_name <> $schema OR contains(sql, 'GENERATED ALWAYS AS'))",
        {"name": NAME, "schema": SCHEMA},
    ).fetchall()
    if foreign:
        raise _foreign(place)


def _foreign(place: Place) -> InputError:
    return InputError(place.shown, "it is not a history of rlcompare", "Name another one with --history")


def _check_version(con: duckdb.DuckDBPyConnection, place: Place) -> None:
    row = con.execute("SELECT value FROM history_meta WHERE key = 'schema'").fetchone()
    version = row[0] if row else "unknown"
    if version != str(SCHEMA_VERSION):
        problem = f"the history has version {version[:20]}, and this rlcompare reads version {SCHEMA_VERSION}"
        raise InputError(place.shown, problem, "Upgrade rlcompare, or name another history with --history")


def _patiently(place: Place, attempt: Callable[[], Result], *, writing: bool) -> Result:
    """The result of ``attempt``, which is made again as long as another process is in the way."""
    end, pause = time.monotonic() + WAIT_SECONDS, _FIRST_PAUSE
    while True:
        try:
            return attempt()
        except duckdb.InterruptException:
            raise
        except duckdb.Error as error:
            reason = place.without_secrets(db.first_line(error))
            locked = any(mark in str(error).lower() for mark in _LOCKED)
            if not locked and not any(mark in str(error).lower() for mark in _AT_ONCE):
                raise _failed(place, reason, writing) from None
            if time.monotonic() > end:
                raise _busy(place, reason, writing) from None
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _failed(place: Place, reason: str, writing: bool) -> InputError | OutputError:
    if place.file is None:
        remedy = "Check the URL, the server and your rights"
        return InputError(place.shown, f"the history cannot be used ({reason})", remedy)
    if writing and (not place.file.exists() or _REFUSED.search(reason)):
        return _not_written(place, reason)
    remedy = "Check that it is a history of rlcompare, or name another one with --history"
    return InputError(place.shown, f"the history cannot be used ({reason})", remedy)


def _busy(place: Place, reason: str, writing: bool) -> InputError | OutputError:
    problem = f"another process has used it for {WAIT_SECONDS:g} seconds: {reason}"
    if writing:
        return OutputError(place.shown, problem, "try again when it has ended")
    return InputError(place.shown, problem, "Try again when it has ended")


def _not_written(place: Place, reason: str) -> OutputError:
    return OutputError(place.shown, reason, "choose another file with --history")


def _absent(place: Place) -> InputError:
    return InputError(place.shown, "there is no history yet", "Add runs with rlcompare history add RUN")
