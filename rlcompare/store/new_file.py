"""Makes DuckDB files with the tables of a store: packs and stores appear whole, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from rlcompare import db, resources

LEAST_MEMORY_BYTES = 128 * 2**20
"""What DuckDB may hold in memory for small captures; for a large one as much as its files take: less is faster, up to a
point, because fresh pages cost more than spilled ones."""


class Cancelled(BaseException):
    """Nobody waits for the result any longer."""


@contextmanager
def new_store(
    target: Path, *, keep_events: bool, threads: int, memory_bytes: int = LEAST_MEMORY_BYTES
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with an empty store attached as ``store``, which appears at ``target`` if nothing fails.

    Event tables are made in the store, or in memory where events are not kept.

    Raises:
        Cancelled: queries of this process were interrupted meanwhile, so that rows may be missing.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = partial_of(target)
    interruptions = db.interruptions()
    with tempfile.TemporaryDirectory(prefix="rlcompare-") as spill:
        con = db.connect(threads, memory_bytes, Path(spill), sqlite=True)
        try:
            db.attach(con, partial, read_only=False)
            create_tables(con, keep_events)
            yield con
            con.execute("USE memory")
            db.detach(con)
            if db.interruptions() != interruptions:
                raise Cancelled
            partial.replace(target)
        finally:
            con.close()
            remove(partial)


def partial_of(target: Path) -> Path:
    """Where a file of this process is written until it is complete."""
    return target.with_name(f".{target.name}.{os.getpid()}.{id(target):x}.partial")


def remove(path: Path) -> None:
    """Remove a DuckDB file and its log, where they are."""
    path.unlink(missing_ok=True)
    path.with_name(path.name + ".wal").unlink(missing_ok=True)


def create_tables(con: duckdb.DuckDBPyConnection, keep_events: bool) -> None:
    """Make the tables of a store in the attached file, and what sources and statements use beside them."""
    con.execute("USE store")
    run_all(con, resources.sql_names("schema/run") + resources.sql_names("schema/rollup"))
    con.execute("USE store" if keep_events else "USE memory")
    run_all(con, resources.sql_names("schema/events") + resources.sql_names("schema/views"))
    run_all(con, resources.sql_names("schema/stage") + resources.sql_names("sources/macro"))
    con.execute("SET search_path = 'memory.main,store.main'")
    con.execute("SET VARIABLE keep_events = ?", [keep_events])


def run_all(con: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
    """Run SQL files in their order."""
    for name in names:
        db.run(con, resources.sql(name))
