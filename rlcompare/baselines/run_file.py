"""The file of one run: the tables of its store that commands read without events, compressed with gzip.

A DuckDB file of many small tables is mostly padding, and gzip makes it ten to twenty times smaller. gzip rather than
xz, because Python is often built without the latter.
"""

from __future__ import annotations

import gzip
import hashlib
import shutil
import zlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import duckdb

from rlcompare import db, resources
from rlcompare.compare.measured import measured
from rlcompare.errors import DamagedStoreError
from rlcompare.sources.blocks import most_expanded
from rlcompare.sql_header import read_header
from rlcompare.store.new_file import new_store

MOST_STORE_BYTES = 4 * 2**30
"""Larger stores are not unpacked."""

_ALWAYS = ("meta", "input")
"""Tables that say what a store is and what it was made from."""

_CHUNK = 2**20


CHANGED = "it does not match its hash in the manifest: one of the two was changed"


class ChangedError(Exception):
    """A file is not the one that its manifest describes; the text is a clause."""


@cache
def kept_tables() -> tuple[str, ...]:
    """The tables of a store that ``diff`` and ``show`` read, by the headers of their queries."""
    queries = [name for folder in ("compare/load", "compare", "show") for name in resources.sql_names(folder)]
    needed = {name for query in queries for name in read_header(resources.sql(query)).depends_on}
    tables = [name.rpartition("/")[2] for name in _schema()]
    return tuple(table for table in tables if table in needed or table in _ALWAYS)


def _schema() -> Iterable[str]:
    return (*resources.sql_names("schema/run"), *resources.sql_names("schema/rollup"))


def pack(store: Path, target: Path) -> int:
    """Write the file of a run.

    Args:
        store: of the run, of this version's schema.
        target: the file to make.

    Returns:
        The size of the store in it.

    Raises:
        InputError: the store cannot be read.
    """
    compact = target.with_name(f"{target.name}.duckdb")
    try:
        with new_store(compact, keep_events=False, threads=1) as con:
            con.execute("SET preserve_insertion_order = true")
            try:
                _copy(con, store)
            except duckdb.Error as error:
                if isinstance(error, duckdb.InterruptException):
                    raise
                raise DamagedStoreError(store, db.first_line(error)) from error
        with (
            compact.open("rb") as plain,
            target.open("wb") as raw,
            gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed,
        ):
            shutil.copyfileobj(plain, packed, _CHUNK)
        return compact.stat().st_size
    finally:
        compact.unlink(missing_ok=True)


def _copy(con: duckdb.DuckDBPyConnection, store: Path) -> None:
    db.attach(con, store, read_only=True, name="pack")
    try:
        for table in kept_tables():  # names from our own schema
            db.run(con, f'INSERT INTO store.main."{table}" BY NAME SELECT * FROM pack.main."{table}"')  # noqa: S608
        con.execute("UPDATE store.main.meta SET value = 'dropped' WHERE key = 'events'")
    finally:
        db.detach(con, "pack")


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def unpack(data: bytes, sha256: str, store_bytes: int, target: Path) -> None:
    """Write the store of a run, after a check of its file.

    Args:
        data: the content of the file, which may come from anybody.
        sha256, store_bytes: what its manifest says of it.

    Raises:
        ChangedError: the manifest says otherwise.
    """
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ChangedError(CHANGED)
    if store_bytes > min(MOST_STORE_BYTES, most_expanded(len(data))):
        raise ChangedError(f"its store has {store_bytes:,} bytes, which exceeds the limit for unpacking")
    unpacker = zlib.decompressobj(wbits=31)
    written = 0
    rest = data
    try:
        with target.open("wb") as file:
            while not unpacker.eof and written <= store_bytes:
                plain = unpacker.decompress(rest, _CHUNK)
                rest = unpacker.unconsumed_tail
                if not plain and not rest:
                    break
                written += len(plain)
                file.write(plain)
    except zlib.error as error:
        raise ChangedError(f"it cannot be decompressed ({error})") from error
    if written != store_bytes or not unpacker.eof:
        raise ChangedError("its size differs from the manifest")


def content_of(store: Path) -> str | None:
    """A hash of the files that a run was read from, whatever their names, and of what it measured.

    None: the store does not tell.

    Raises:
        InputError: the store cannot be read.
    """
    with db.closed(db.connect_to_stores(1, [store])) as con, db.reading(store):
        db.attach(con, store, read_only=True)
        rows = con.execute("SELECT size_bytes, digest FROM store.input ORDER BY ALL").fetchall()
        if not rows:
            return None
        found = measured(con)
    text = "\n".join([f"{size} {digest}" for size, digest in rows] + [f"{sorted(found.of_captures)} {found.of_run}"])
    return hashlib.sha256(text.encode()).hexdigest()
