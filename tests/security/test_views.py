"""Views in a database are untrusted queries, which may never end: they are never run, whatever their names."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from rlcompare.errors import InputError
from rlcompare.sources.ascend.peek import rank_of_database, steps_of_database
from rlcompare.sources.content import quietly, refuse_views
from rlcompare.sources.metrics.mlflow import is_run_folder
from tests.stores import store_of
from tests.verl_logs import mlflow_database


def instead_of(path: Path, table: str, query: str) -> None:
    """A view in place of a table."""
    with closing(sqlite3.connect(path)) as con:
        con.execute(f"DROP TABLE IF EXISTS {table}")
        con.execute(f"CREATE VIEW {table} AS {query}")
        con.commit()


def test_of_a_profile(tmp_path: Path) -> None:
    path = tmp_path / "ascend_pytorch_profiler.db"
    instead_of(path, "RANK_DEVICE_MAP", "SELECT 7 AS rankId")
    instead_of(path, "STEP_TIME", "SELECT 5 AS id")
    assert (rank_of_database(path), steps_of_database(path)) == (None, None)


def test_of_a_tracker(tmp_path: Path) -> None:
    path = mlflow_database(tmp_path / "mlflow.db", {"grpo": ((1, "timing_s/step", 1.5, False),)})
    with closing(sqlite3.connect(path)) as con:
        con.execute("ALTER TABLE metrics RENAME TO others")
        con.commit()
    instead_of(path, "metrics", "SELECT * FROM others")
    with pytest.raises(InputError):
        store_of(path, tmp_path / "s.duckdb")


def test_our_own_queries_are_none(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as con:
        con.executescript("CREATE TABLE t (a); INSERT INTO t VALUES (1); CREATE VIEW v AS SELECT a FROM t;")
        refuse_views(con)
        for query in ("SELECT a FROM v", "SELECT a FROM t WHERE a IN (SELECT a FROM v)", "SELECT count(*) FROM v"):
            with pytest.raises(sqlite3.DatabaseError):
                con.execute(query)
            assert quietly(path, query) == []
        for query in ("SELECT a FROM t", "SELECT a FROM (SELECT a FROM t)", "SELECT 1 WHERE 1 IN (SELECT a FROM t)"):
            assert con.execute(query).fetchall() == quietly(path, query) == [(1,)]


def test_a_pipe_in_place_of_a_description_is_not_opened(tmp_path: Path) -> None:
    """Opening it would wait for a writer for ever; here there is one."""
    (tmp_path / "metrics").mkdir()
    pipe = tmp_path / "meta.yaml"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(writer, b"run_id: 1\n".ljust(64 * 1024))
        assert not is_run_folder(tmp_path, ["meta.yaml"], ["metrics"])
    finally:
        os.close(writer)
