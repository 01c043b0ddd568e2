"""A database with the tables of an empty store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from rlcompare import db
from rlcompare.store.new_file import create_tables


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    con = db.connect(1)
    store: Path = tmp_path_factory.mktemp("store") / "store.duckdb"
    db.attach(con, store, read_only=False)
    create_tables(con, keep_events=True)
    con.execute("SET VARIABLE capture = 0")
    yield con
    con.close()
