"""Makes DuckDB files with the tables of a store. Packs and stores are written atomically."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from rlcompare import db, resources, temporary
from rlcompare.secret import SUSPICIOUS
from rlcompare.store.clean_copy import write_again
from rlcompare.store.redaction import is_redacted

LEAST_MEMORY_BYTES = 128 * 2**20
"""DuckDB's memory limit for small captures; for a large capture it is the size of its files. Down to a point, a lower
limit is faster, because fresh pages cost more than spilled ones."""


MOST_LONG_TEXT = 32_000_000
"""If the long names of kernels and operators of a capture take more bytes, they are cut (sql/normalize/shorten.sql)."""


class Cancelled(BaseException):
    """The result is no longer needed."""


@contextmanager
def new_store(
    target: Path,
    *,
    keep_events: bool,
    threads: int,
    memory_bytes: int = LEAST_MEMORY_BYTES,
    choose: Callable[[], Path] | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with an empty store attached as ``store``. If nothing fails, the store is moved to ``target``.

    Event tables are made in the store, or in memory if events are not kept.

    Args:
        choose: returns another target in the same folder, when the store is complete.

    Raises:
        Cancelled: queries of this process were interrupted, so that rows may be missing.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = temporary.partial_of(target)
    interruptions = db.interruptions()
    with temporary.folder() as spill:
        con = db.connect(threads, memory_bytes, Path(spill), sqlite=True)
        try:
            db.attach(con, partial, read_only=False)
            con.execute("SET checkpoint_threshold = '1TB'")  # not after any statement that makes it 16 MB
            create_tables(con, keep_events)
            yield con
            finish(con, partial)
            if db.interruptions() != interruptions:
                raise Cancelled
            partial.replace(choose() if choose else target)
        finally:
            con.close()
            remove(partial)


def finish(con: duckdb.DuckDBPyConnection, partial: Path) -> None:
    """Detach a store whose tables are complete; then its file is too.

    Raises:
        WriteError: the file cannot be written.
    """
    con.execute("USE memory")
    if is_redacted(con):
        write_again(con, partial)
    else:
        db.detach(con)


def remove(path: Path) -> None:
    """Remove a DuckDB file and its log, if they exist."""
    path.unlink(missing_ok=True)
    path.with_name(path.name + ".wal").unlink(missing_ok=True)


def create_tables(con: duckdb.DuckDBPyConnection, keep_events: bool) -> None:
    """Make the tables of a store in the attached file, and the stage tables and macros that sources use."""
    con.execute("USE store")
    run_all(con, resources.sql_names("schema/run") + resources.sql_names("schema/rollup"))
    con.execute("USE store" if keep_events else "USE memory")
    run_all(con, resources.sql_names("schema/events") + resources.sql_names("schema/views"))
    run_all(con, resources.sql_names("schema/stage") + resources.sql_names("sources/macro"))
    con.execute("SET search_path = 'memory.main,store.main'")
    db.set_variable(con, "keep_events", keep_events)
    db.set_variable(con, "suspicious", SUSPICIOUS)
    db.set_variable(con, "most_long_text", MOST_LONG_TEXT)


def run_all(con: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
    """Run SQL files in their order."""
    for name in names:
        db.run(con, resources.sql(name))


def run_file(con: duckdb.DuckDBPyConnection, name: str, empty: resources.EmptyTables) -> list[tuple[Any, ...]]:
    """Run an SQL file; its queries only if they may make rows. Returns the rows of its last statement."""
    rows: list[tuple[Any, ...]] = []
    with_rows: set[str] = set()
    if empty.skips(name):
        db.run_without_rows(con, resources.sql(name))
    else:
        rows = db.run(con, resources.sql(name), with_rows=with_rows)
    empty.ran(name, with_rows)
    return rows
