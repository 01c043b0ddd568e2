"""Opens stores to read them, and tells whether a file is one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb

from rlcompare.errors import InputError, UsageError
from rlcompare.store.database import interruptible


def open_read_only(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection that cannot change the store, and that writes nothing beside it, temporary files included.

    Raises:
        InputError: the file cannot be opened.
    """
    try:
        con = interruptible(duckdb.connect(str(path), read_only=True))
        con.execute("SET temp_directory = ''")
        con.execute("SET enable_progress_bar = false")
        con.execute("SET autoinstall_known_extensions = false")
        con.execute("SET autoload_known_extensions = false")
    except duckdb.Error as error:
        problem = f"the database cannot be opened ({str(error).splitlines()[0]})"
        raise InputError(path, problem, "Make it again with rlcompare ingest") from error
    return con


def is_of_host_alone(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether there are captures, and none of them holds a device: then there are no kernels."""
    row = con.execute("SELECT bool_and(executor = 'host') FROM capture").fetchone()
    return bool(row and row[0])


def one_result(con: duckdb.DuckDBPyConnection, query: str, hint: Callable[[], str] = str) -> duckdb.DuckDBPyConnection:
    """What the query of a user gives.

    Args:
        hint: called where it fails: what more there is to say.

    Raises:
        UsageError: it is wrong, or more or less than one query.
    """
    try:
        several = len(con.extract_statements(query)) > 1
        result = None if several else con.execute(query)
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        raise UsageError(f"the query failed: {' '.join(str(error).split())}{hint()}") from error
    if several:
        raise UsageError("the query holds several statements, of which one alone would be shown: give one at a time")
    # DuckDB gives no result at all for a query that is only a comment.
    if result is None or result.description is None:
        raise UsageError("the query gives no rows: use SELECT")
    return result


def store_schema_version(path: Path) -> int | None:
    """The schema version of a DuckDB file; None where it is no store.

    Raises:
        InputError: it cannot be opened.
    """
    with closing(open_read_only(path)) as con:
        try:
            row = con.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
        except (duckdb.CatalogException, duckdb.BinderException):
            return None
    return int(row[0]) if row and str(row[0]).isdecimal() else None


def is_store(path: Path) -> bool:
    """Whether a file is a store, of any version."""
    try:
        return store_schema_version(path) is not None
    except InputError:
        return False
