"""Connections to DuckDB, and the only place where a path becomes part of a statement."""

from __future__ import annotations

import json
import re
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb

from rlcompare import capacity, resources, temporary
from rlcompare.errors import DamagedStoreError, InputError, UsageError
from rlcompare.sql_order import filled

SQLITE_EXTENSION, POSTGRES_EXTENSION = "sqlite_scanner", "postgres_scanner"

SCHEMA_VERSION = 18
"""Increased whenever a table of the store or the meaning of a column changes; part of every cache key."""

_WRITE_FAILED = re.compile(
    r"no space left|could not write|cannot write|file too large|read-only file system|quota|disk is full", re.IGNORECASE
)
_IN_QUOTES = re.compile(r'"[^"\n]*"')
_FILE_AND_REASON = re.compile(r'(?:file|directory) "([^"\n]+)": ([^"\n]+)')


class WriteError(Exception):
    """DuckDB could not write a file. Not a ``duckdb.Error``, so that no source mistakes it for a damaged input.

    Attributes:
        path: the file; None if DuckDB does not name it.
        reason: the reason, as stated by the system.
    """

    def __init__(self, path: Path | None, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path}: {reason}")


_COPY = r"(?:(?:list|events|copy)-of-|mended-|sound-)*"
"""Prefixes of the names of private copies that sources make."""

_PATTERN = re.compile(r"[*?\[]")
_PLAIN = re.compile(r"[ -&(-~\n\t]*")
"""Texts that stand in quotes as they are."""
_OF_QUERY = re.compile(r"^CREATE (?:OR REPLACE )?(?:TEMP )?TABLE (?:IF NOT EXISTS )?\w+ AS\b", re.MULTILINE)
"""A statement that makes a table of a query. Statements start at the start of a line."""

_SCHEMA = ("schema/run", "schema/rollup", "schema/events")
_MAKE_AGAIN = "Rebuild it with rlcompare ingest"
OF_CONTENT = (
    duckdb.BinderException, duckdb.CatalogException, duckdb.ConversionException, duckdb.InvalidInputException,
    duckdb.OutOfRangeException, duckdb.TypeMismatchException,
)  # fmt: skip
"""Errors of our own queries that only the content of a store can cause."""

Value = bool | int | str | Sequence[int] | Sequence[str] | None
"""What ``literal`` can write."""

NOT_THE_INPUT = (duckdb.OutOfMemoryException, duckdb.InterruptException, duckdb.FatalException)
"""Errors that say nothing about the input being read."""

_FOREIGN = """
    SELECT 'the view ' || view_name FROM duckdb_views()
    WHERE database_name IN ({database}, current_database())
      AND list_contains({names}, lower(view_name))
    UNION ALL
    SELECT 'a computed column in ' || table_name FROM duckdb_tables()
    WHERE database_name IN ({database}, current_database()) AND contains(sql, 'GENERATED ALWAYS AS')
"""
_FOREIGN_MACROS = """
    SELECT 'the macro ' || function_name FROM duckdb_functions()
    WHERE database_name IN ({database}, current_database()) AND NOT internal
"""

_open: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()
_open_lock = threading.Lock()
_interruptions = 0


def interruptible(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Registers a connection with ``interrupt_all``, as long as it exists."""
    with _open_lock:
        _open.add(con)
    return con


def interrupt_all() -> None:
    """Interrupts the running queries of all threads: each raises ``duckdb.InterruptException``."""
    global _interruptions
    with _open_lock:
        _interruptions += 1
        connections = list(_open)
    for con in connections:
        # A connection that was closed in the meantime has nothing to interrupt.
        with suppress(duckdb.Error):
            con.interrupt()


def interruptions() -> int:
    """How often queries were interrupted. Data that was read while this number grew may lack rows."""
    return _interruptions


def interruption() -> Callable[[], None]:
    """A function that long loops in Python call, so that they end like queries.

    It raises ``duckdb.InterruptException`` if queries have been interrupted since it was made.
    """
    before = _interruptions

    def check() -> None:
        if _interruptions != before:
            raise duckdb.InterruptException("interrupted")

    return check


def quoted(place: Path | str) -> str:
    """A path or URL as an SQL literal: ATTACH and LOAD take no parameters."""
    return "'" + str(place).replace("'", "''") + "'"


def pattern_of(path: Path) -> str:
    """A pattern that matches exactly this file in DuckDB's file readers (``read_csv``, ``read_json``).

    These readers expect patterns: ``run[12]/x.csv`` would match ``run1/x.csv``. They also treat ``lr=0.1/x.csv`` as a
    partition, so every statement of ours sets ``hive_partitioning = FALSE``.

    Raises:
        InputError: no pattern matches this file alone.
    """
    text = path.absolute().as_posix()
    if not _PATTERN.search(text):
        return text
    if "\\" in text:  # DuckDB treats it as a separator in patterns, and it cannot be escaped
        problem = "DuckDB cannot open a path that contains a backslash together with *, ? or ["
        raise InputError(path, problem, "Rename the file or folder")
    return _PATTERN.sub(r"[\g<0>]", text)


def connect(
    threads: int,
    memory_bytes: int | None = None,
    spill: Path | None = None,
    *,
    sqlite: bool = False,
    postgres: bool = False,
) -> duckdb.DuckDBPyConnection:
    """A new in-memory database.

    Args:
        threads: worker threads of this database; several run side by side.
        memory_bytes: memory limit, beyond which tables are written to ``spill``; None: DuckDB's default.
        spill: a private folder for that; None: one that ``close`` removes. By default DuckDB would make
            ``.tmp`` in the current folder, which may be an input.
        sqlite, postgres: whether to load these extensions.

    Raises:
        UsageError: the package of the postgres extension is not installed.
    """
    config: dict[str, Any] = {"threads": threads, "preserve_insertion_order": False}
    # Memory of dropped tables goes back to the system at once. By default up to 512 MB of it are kept.
    config["allocator_bulk_deallocation_flush_threshold"] = "16MB"
    # The extension is part of the installation, like DuckDB itself. Checking its signature in each database takes
    # longer than everything else here.
    config["allow_unsigned_extensions"] = sqlite or postgres
    config["autoinstall_known_extensions"] = config["autoload_known_extensions"] = False
    con = interruptible(duckdb.connect(":memory:", config=config))
    con.execute("SET enable_progress_bar = false")
    if sqlite:
        import duckdb_extension_sqlite_scanner

        _load(con, duckdb_extension_sqlite_scanner.__file__, SQLITE_EXTENSION)
    if postgres:
        try:
            import duckdb_extension_postgres_scanner
        except ImportError as error:
            raise UsageError("PostgreSQL needs a package: pip install 'rlcompare[postgres]'") from error
        _load(con, duckdb_extension_postgres_scanner.__file__, POSTGRES_EXTENSION)
    con.execute(f"SET temp_directory = {quoted(temporary.folder_of(con) if spill is None else spill)}")
    if memory_bytes is not None:
        _limit_memory(con, memory_bytes)
    return con


def run(
    con: duckdb.DuckDBPyConnection,
    sql: str | duckdb.Statement,
    parameters: Sequence[object] = (),
    with_rows: set[str] | None = None,
) -> list[tuple[Any, ...]]:
    """Execute SQL, statement by statement, and return the rows of the last statement.

    The memory limit only affects speed. If an operator cannot spill, the limit is doubled and the statement runs again,
    until the machine has no more memory.

    Args:
        parameters: those of a single statement.
        with_rows: the tables to which statements add rows are added to it.

    Raises:
        WriteError: a file cannot be written, as on a full disk.
        duckdb.Error: a statement fails for another reason.
    """
    rows: list[tuple[Any, ...]] = []
    for statement in con.extract_statements(sql) if isinstance(sql, str) else [sql]:
        while True:
            try:
                rows = con.execute(statement, parameters or None).fetchall()
                break
            except duckdb.OutOfMemoryException:
                if not _raise_memory_limit(con):
                    raise
            except duckdb.Error as error:
                _raise_write_error(error)
                raise
        if with_rows is not None and rows and rows[0][0] != 0:  # a statement that fills a table returns their number
            with_rows.update(*filled(statement.query))
    return rows


def run_without_rows(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Execute SQL whose queries make no rows: tables are made without running the queries that would fill them."""
    unneeded = (duckdb.StatementType.INSERT, duckdb.StatementType.SELECT)
    for statement in con.extract_statements(sql):
        if statement.type not in unneeded:
            text = statement.query.rstrip().removesuffix(";")
            con.execute(f"{text} WITH NO DATA" if _OF_QUERY.search(text) else statement)


def empty_tables(con: duckdb.DuckDBPyConnection, *databases: str) -> frozenset[str]:
    """The names of the tables that have no rows in any of these databases."""
    query = (
        f"SELECT table_name FROM duckdb_tables() WHERE list_contains({literal(databases)}, database_name)"  # noqa: S608
        " GROUP BY table_name HAVING max(estimated_size) = 0"
    )
    return frozenset(name for (name,) in con.execute(query).fetchall())


def literal(value: Value) -> str:
    """A value as an SQL literal. Text of any kind is safe: what is not plain ASCII without quotes is written in hex."""
    if value is None:
        return "NULL"
    if isinstance(value, bool | int):
        return str(value)
    if isinstance(value, str):
        return f"'{value}'" if _PLAIN.fullmatch(value) else f"decode(from_hex('{value.encode().hex()}'))"
    return f"[{', '.join(map(literal, value))}]"


def set_variable(con: duckdb.DuckDBPyConnection, name: str, value: Value, kind: str | None = None) -> None:
    """Set a variable of a connection, without a parameter (``as_parameter``).

    Args:
        kind: the type to cast the value to; default: that of the literal.
    """
    text = literal(value)
    con.execute(f"SET VARIABLE {name} = {text if kind is None else f'CAST({text} AS {kind})'}")


def as_parameter(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Rows as the only parameter of a statement that reads them with ``from_json``.

    DuckDB tries to import pandas for every value that it is passed: 0.1 ms each where pandas is absent, 0.3 s once
    where it is installed. So a comparison of cached stores passes none. A lone surrogate, which no column can hold,
    becomes a question mark.
    """
    return [json.dumps(rows, ensure_ascii=False).encode("utf-8", "replace").decode()]


def _raise_write_error(error: duckdb.Error) -> None:
    """Raises a ``WriteError`` if DuckDB reports that a file could not be written. A path may be called anything."""
    message = str(error)
    if not isinstance(error, duckdb.InvalidInputException) and _WRITE_FAILED.search(_IN_QUOTES.sub("", message)):
        path, reason = file_and_reason(message)
        raise WriteError(path, reason) from error


def file_and_reason(message: str) -> tuple[Path | None, str]:
    """The file that a DuckDB message names, and why it could not be used. Of several files, the last is the cause."""
    named = _FILE_AND_REASON.findall(message)
    if named:
        return Path(named[-1][0]), named[-1][1].strip()
    return None, message.splitlines()[0].removeprefix("IO Error: ")


def _raise_memory_limit(con: duckdb.DuckDBPyConnection) -> bool:
    """Doubles the memory limit that ``connect`` set; False if there was none, or if the machine has no more memory."""
    ((limit,),) = con.execute("SELECT getvariable('memory_bytes')").fetchall()
    if limit is None or 2 * limit > capacity.memory_bytes():
        return False
    _limit_memory(con, 2 * limit)
    return True


def close(con: duckdb.DuckDBPyConnection) -> None:
    """Closes a connection that ``connect`` made, and removes its folder for temporary files."""
    con.close()
    temporary.remove_folder_of(con)


@contextmanager
def closed(con: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that is closed at the end."""
    try:
        yield con
    finally:
        close(con)


def _limit_memory(con: duckdb.DuckDBPyConnection, memory_bytes: int) -> None:
    con.execute(f"SET memory_limit = '{int(memory_bytes)}B'")
    set_variable(con, "memory_bytes", memory_bytes)


def _load(con: duckdb.DuckDBPyConnection, package: str, name: str) -> None:
    """Load an extension from its Python package: DuckDB's own INSTALL would download it."""
    (extension,) = Path(package).parent.glob(f"extensions/*/{name}.duckdb_extension")
    con.execute(f"LOAD {quoted(extension)}")


def attach(
    con: duckdb.DuckDBPyConnection, path: Path, *, read_only: bool, name: str = "store", again: bool = False
) -> None:
    """Attach a DuckDB file.

    Args:
        con: a connection; from ``connect_to_stores`` if the file may come from another user.
        again: whether this connection had it attached before, so that it is not checked once more.
        name: name of the attached database, never text from a profile.

    Raises:
        InputError: rlcompare did not make the file.
        WriteError: the file cannot be created, as on a full disk.
        duckdb.Error: the file cannot be opened.
    """
    # Stores hold many small tables: with DuckDB's default blocks of 256 KiB, an empty store would take megabytes. An
    # incomplete store is deleted if anything fails, so a log for recovery is not needed. The format of DuckDB's
    # version 1.3: by default it writes an older one, which takes thrice the space, and four times as long to attach.
    # The type, because a file may be of another kind of database, which DuckDB would open with an extension.
    how = "READ_ONLY" if read_only else "BLOCK_SIZE 16384, RECOVERY_MODE no_wal_writes, STORAGE_VERSION 'v1.3.0'"
    try:
        con.execute(f"ATTACH {quoted(path.absolute())} AS {name} (TYPE duckdb, {how})")
    except duckdb.Error as error:
        _raise_write_error(error)
        raise
    if read_only and not again:
        try:
            check_store(con, path, macros=False, name=name)
        except BaseException:
            detach(con, name)
            raise


def attach_sqlite(con: duckdb.DuckDBPyConnection, path: Path, name: str) -> None:
    """Attach an SQLite file, read-only, for queries that SQLite runs itself (``sqlite_query``).

    Args:
        name: name of the attached database, never text from a profile.
    """
    con.execute(f"ATTACH {quoted(path.absolute())} AS {name} (TYPE sqlite, READ_ONLY)")


def detach(con: duckdb.DuckDBPyConnection, name: str = "store") -> None:
    """Detach a database that ``attach`` attached; this writes its new content.

    Raises:
        WriteError: the content cannot be written.
    """
    try:
        con.execute(f"DETACH {name}")
    except duckdb.Error as error:
        _raise_write_error(error)
        raise


def connect_to_stores(threads: int, stores: Sequence[Path]) -> duckdb.DuckDBPyConnection:
    """An in-memory database that can ``attach`` these stores read-only, and access no other file and no network.

    Stores and the queries over them are untrusted.
    """
    con = connect(threads)
    paths = [str(path.absolute()) for path in stores]
    # Where DuckDB looks for a file's log: it treats everything after a question mark as options.
    logs = [f"{head}.wal{mark}{tail}" for head, mark, tail in (path.partition("?") for path in paths)]
    con.execute(f"SET allowed_paths = {literal(paths + logs)}")
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")
    return con


def open_read_only(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection that cannot change the store, accesses nothing else, and writes no files, not even temporary ones.

    Raises:
        InputError: the file cannot be opened, or rlcompare did not make it.
    """
    con = _open_file(path)
    try:
        check_store(con, path, macros=True)
    except BaseException:
        con.close()
        raise
    return con


def _open_file(path: Path) -> duckdb.DuckDBPyConnection:
    sealed: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "temp_directory": "",
    }
    try:
        con = interruptible(duckdb.connect(str(path.absolute()), read_only=True, config=sealed))
        con.execute("SET enable_progress_bar = false")
        con.execute("SET enable_external_access = false")
        con.execute("SET lock_configuration = true")
    except duckdb.Error as error:
        raise InputError(path, f"the database cannot be opened ({first_line(error)})", _MAKE_AGAIN) from error
    return con


def check_store(con: duckdb.DuckDBPyConnection, path: Path, *, macros: bool, name: str = "store") -> None:
    """Refuses a database in which one of our table names is not a plain table.

    Views, computed columns and macros would run foreign code. They are searched for before the first query.

    Args:
        con: has the database open, either as its main database or attached as ``name``, and cannot access any file.
        path: the file, for the message.
        macros: whether functions are looked up in it, so that a macro could replace a function of DuckDB.

    Raises:
        InputError: the database contains one of these.
    """
    names = [name.rsplit("/", 1)[1] for folder in _SCHEMA for name in resources.sql_names(folder)]
    try:
        found = con.execute(_FOREIGN.format(names=literal(names), database=literal(name))).fetchall()
        if macros and not found:
            found = con.execute(_FOREIGN_MACROS.format(database=literal(name))).fetchall()
    except duckdb.Error as error:
        raise InputError(path, f"the database cannot be read ({first_line(error)})", _MAKE_AGAIN) from error
    if found:
        raise InputError(path, f"it is not an rlcompare store: it contains {found[0][0][:200]}", _MAKE_AGAIN)


@contextmanager
def reading(store: Path) -> Iterator[None]:
    """Turns DuckDB errors about what a store holds into errors of an input; other errors pass.

    Raises:
        DamagedStoreError: a block of the store does not match its checksum.
        InputError: the store lacks a table or a column, or has values that none of ours has.
    """
    try:
        yield
    except duckdb.Error as error:
        if is_damage(error):
            raise DamagedStoreError(store, first_line(error)) from error
        if not isinstance(error, OF_CONTENT):
            raise
        problem = f"the store is damaged or was modified outside rlcompare ({first_line(error)})"
        raise InputError(store, problem, _MAKE_AGAIN) from error


def is_damage(error: duckdb.Error) -> bool:
    """Whether an error says that the database file itself is damaged."""
    return "corrupt database file" in str(error).lower()


def store_schema_version(path: Path) -> int | None:
    """The schema version of a DuckDB file; None if it is not a store.

    Raises:
        InputError: the file cannot be opened, is damaged, or was not made by rlcompare.
    """
    with closing(_open_file(path)) as con:
        check_store(con, path, macros=False)
        try:
            row = con.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
        except (duckdb.CatalogException, duckdb.BinderException):
            return None
        except duckdb.Error as error:
            if is_damage(error):
                raise DamagedStoreError(path, first_line(error)) from error
            raise InputError(path, f"the database cannot be read ({first_line(error)})", _MAKE_AGAIN) from error
    return int(row[0]) if row and str(row[0]).isdecimal() else None


def first_line(error: Exception) -> str:
    """The first line of an error. Paths of private copies are replaced by the names of the copied files."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    line = re.sub(rf"{re.escape(tempfile.gettempdir())}/rlcompare-[^/]+/{_COPY}", "", line)
    return line if len(line) <= 300 else f"{line[:150]} … {line[-147:]}"  # the reason stands behind the path


def is_store(path: Path) -> bool:
    """Whether a file is a store, of any version."""
    try:
        return store_schema_version(path) is not None
    except InputError:
        return False
