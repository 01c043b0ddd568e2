"""The part of a file by which sources recognise it: its first 64 KiB at most, or its table names.

Nothing is written: databases are opened with ``immutable=1``, which neither takes locks nor leaves ``-wal`` and
``-shm`` files behind.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlcompare.sources.blocks import GZIP, head_of

HEAD_BYTES = 64 * 1024
"""How much of a file is read to detect its format."""

DAMAGED = (sqlite3.Error, UnicodeDecodeError)
"""What reading a damaged SQLite database raises; the latter if the message quotes a name that is not valid UTF-8."""

LOG, JOURNAL = "-wal", "-journal"
"""What SQLite appends to the name of a database (``log_of``, ``journal_of``)."""

_SQLITE = b"SQLite format 3\0"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Content:
    """The beginning of one file.

    Attributes:
        path: the file.
        head: its first bytes, as they are.
        text: its first bytes, uncompressed, without a byte order mark and leading white space; empty for a database.
        is_compressed: ``text`` was compressed (gzip).
        tables: the names of its tables, if it is an SQLite database, else None.
        problem: why a database cannot be used, as a clause; None if it can.
    """

    path: Path
    head: bytes
    text: bytes = b""
    is_compressed: bool = False
    tables: frozenset[str] | None = None
    problem: str | None = None

    @property
    def has_log(self) -> bool:
        """Whether there is a write-ahead log beside it, which may hold tables that are not searched here."""
        return log_of(self.path).is_file()


def content_of(path: Path) -> Content:
    """The beginning of a file that is neither a pipe nor empty.

    Raises:
        OSError: it cannot be opened or read.
    """
    with path.open("rb") as handle:
        head = handle.read(HEAD_BYTES)
    if head.startswith(_SQLITE):
        return _of_database(path, head)
    is_compressed = head.startswith(GZIP)
    text = head_of(path, HEAD_BYTES) if is_compressed else head
    return Content(path, head, text.removeprefix(_BYTE_ORDER_MARK).lstrip(), is_compressed)


def _of_database(path: Path, head: bytes) -> Content:
    tables: frozenset[str] = frozenset()
    problem = _truncation(path, head)
    if problem is None:
        try:
            tables = frozenset(
                str(name) for (name,) in _rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'")
            )
        except DAMAGED as error:
            problem = f"the database is damaged ({error})"
    return Content(path, head, tables=tables, problem=problem)


def _truncation(path: Path, head: bytes) -> str | None:
    """Checks the size in the header against the file's. It is valid only if the two change counters agree."""
    if len(head) < 100:
        return "the database is truncated within its header"
    page_size = int.from_bytes(head[16:18], "big")
    page_size = 65536 if page_size == 1 else page_size
    pages = int.from_bytes(head[28:32], "big")
    size = path.stat().st_size
    if head[24:28] == head[92:96] and size < page_size * pages and not log_of(path).is_file():
        return f"the database is truncated: {size} of {page_size * pages} bytes are there"
    return None


def logs_of(path: Path) -> list[Path]:
    """The files by which SQLite changes a database that it opens: its log, and the journal of an unfinished write."""
    found = [log_of(path)] if log_of(path).is_file() else []
    return [*found, journal_of(path)] if is_unfinished(path) else found


def is_unfinished(path: Path) -> bool:
    """Whether a process was stopped while it wrote a database: its journal is there, and not marked as done.

    Zeroed or empty, a journal says nothing (https://www.sqlite.org/lockingv3.html#hot_journals).
    """
    journal = journal_of(path)
    if not journal.is_file():
        return False
    try:
        with journal.open("rb") as file:
            return file.read(1) not in (b"", b"\0")
    except OSError:  # nor could SQLite read it, and it would not open the database
        return True


def journal_of(path: Path) -> Path:
    """Where SQLite keeps what a database was before an unfinished write."""
    return _beside(path, JOURNAL)


def log_of(path: Path) -> Path:
    """Where SQLite keeps the last writes of a database in WAL mode."""
    return _beside(path, LOG)


def _beside(path: Path, suffix: str) -> Path:
    """A file of a database that SQLite keeps: beside the database itself, also if ``path`` is a link to it.

    Data stores make links of all files. Then it is beside the link.
    """
    beside = path.with_name(path.name + suffix)
    if not path.is_symlink() or beside.exists():
        return beside
    return Path(os.path.realpath(path) + suffix)


def quietly(path: Path, query: str) -> list[tuple[Any, ...]]:
    """The rows of one of our queries on a database; empty if the table is missing, a view, or cannot be read."""
    try:
        return _rows(path, query)
    except DAMAGED:
        return []


def refuse_views(con: sqlite3.Connection) -> None:
    """Makes every query fail that reads a view: views are untrusted queries, which may never end.

    SQLite names the view that a read is for (https://www.sqlite.org/c3ref/set_authorizer.html). It names a common table
    expression likewise, so our own queries have none.
    """
    con.set_authorizer(
        lambda _action, _first, _second, _database, view: sqlite3.SQLITE_OK if view is None else sqlite3.SQLITE_DENY
    )


def _rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        refuse_views(connection)
        return connection.execute(query).fetchall()
