"""Opens the SQLite database of a tracker (MLflow, trackio)."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from rlcompare import temporary
from rlcompare.errors import InputError
from rlcompare.sources.content import DAMAGED, refuse_views
from rlcompare.sources.metrics.values import LINE_BYTES, Metrics
from rlcompare.sources.sqlite_input import discards_log, readable_copy


@contextmanager
def opened(path: Path, tracker: str, metrics: Metrics | None = None) -> Iterator[sqlite3.Connection]:
    """The database, for reading; a private copy of it if opening it would write beside it.

    Args:
        tracker: whose database it is, for errors.
        metrics: is told whether SQLite ignores the write-ahead log (``Metrics.lost_log``).

    Raises:
        InputError: it cannot be read.
    """
    with temporary.folder() as scratch:
        copy = readable_copy(path, Path(scratch))
        try:
            if metrics is not None and copy != path:
                metrics.lost_log = discards_log(copy)
            with closing(sqlite3.connect(f"{copy.absolute().as_uri()}?mode=ro", uri=True)) as con:
                if sys.version_info >= (3, 11):  # before, a computed column may be of any length
                    con.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LINE_BYTES)
                refuse_views(con)
                con.text_factory = lambda data: data.decode("utf-8", "replace")
                yield con
        except DAMAGED as error:
            raise InputError(path, f"{tracker}'s database cannot be read ({error})", "Copy it again") from error
