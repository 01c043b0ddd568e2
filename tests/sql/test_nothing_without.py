"""The clause "Nothing without" is true: where the tables that it names are empty, DuckDB makes no rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from rlcompare import db, resources
from rlcompare.compare.inputs import CompareOptions
from rlcompare.compare.rollups import Rollups
from rlcompare.sources.detect import find_runs
from rlcompare.sql_header import read_header
from rlcompare.sql_order import filled
from rlcompare.store.build import build_store
from tests.sql.rollup_stores import side
from tests.sql.test_compare_limits import logged
from tests.stores import store_of

INPUTS = Path(__file__).resolve().parents[2] / "golden" / "inputs"
LOG = [{"timing_s/step": 10.0 + step % 3, "timing_s/gen": 4.0 + step % 2, "actor/loss": 0.1} for step in range(40)]


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A comparison of two runs a side, a profile and a log, with the profile's tables in the schema ``store``."""
    folder = tmp_path_factory.mktemp("rich")
    profiles = [store_of(INPUTS / f"text_level1_{name}", folder / f"{name}.duckdb") for name in ("baseline", "new")]
    log = logged(folder / "log.duckdb", *LOG)
    with Rollups(side("a", profiles[0], log), side("b", profiles[1], log), CompareOptions()) as rollups:
        rollups._pool.shutdown()
        con = rollups._cursors[0]
        db.attach(con, profiles[0], read_only=True, name="file")
        con.execute("CREATE SCHEMA store")
        for (table,) in con.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'file'").fetchall():
            con.execute(f'CREATE TABLE store."{table}" AS FROM file.main."{table}"')
        con.execute("SET VARIABLE run = 0")  # the profile, once more
        yield con


def clauses(folder: str) -> list[tuple[str, tuple[str, ...]]]:
    """Files, each with tables without which it makes nothing."""
    names = resources.sql_names(folder)
    return [(name, tables) for name in names for tables in read_header(resources.sql(name)).nothing_without]


def empty(con: duckdb.DuckDBPyConnection, tables: tuple[str, ...]) -> None:
    stored = {name.rpartition("/")[2] for kind in ("run", "rollup") for name in resources.sql_names(f"schema/{kind}")}
    for table in tables:
        con.execute(f'DELETE FROM store."{table}"' if table in stored else f'DELETE FROM "{table}"')


def is_added(created: frozenset[str], inserted: frozenset[str]) -> bool:
    """Whether a file only adds rows to tables that others make."""
    return bool(inserted) and not created


@pytest.mark.slow
def test_queries(con: duckdb.DuckDBPyConnection) -> None:
    with_rows = set()
    for name, tables in clauses("compare"):
        if any(filled(resources.sql(name))):
            continue
        con.execute("BEGIN")
        with_rows |= {name} if con.execute(resources.sql(name)).fetchone() else set()
        empty(con, tables)
        assert con.execute(resources.sql(name)).fetchall() == [], (name, tables)
        con.execute("ROLLBACK")
    assert len(with_rows) > 30, f"{len(with_rows)}: the data is too poor to test this"


def test_tables_made_of_queries(con: duckdb.DuckDBPyConnection) -> None:
    """They have no rows then, and the same columns if their queries are not run."""
    with_rows = set()
    for name, tables in clauses("compare"):
        text = resources.sql(name)
        if not filled(text)[0] or name == "compare/metric":  # that one drops what it is made of
            continue
        tables_made = re.findall(r"(?m)^CREATE TABLE (?:IF NOT EXISTS )?(\w+)", text)
        rows, columns = {}, {}
        for way in ("full", "empty", "skipped"):
            con.execute("BEGIN")
            for made_before in tables_made:
                con.execute(f"DROP TABLE {made_before}")
            for view in re.findall(r"(?m)^CREATE VIEW (\w+)", text):
                con.execute(f"DROP VIEW {view}")
            empty(con, () if way == "full" else tables)
            (db.run_without_rows if way == "skipped" else duckdb.DuckDBPyConnection.execute)(con, text)
            rows[way] = con.execute(f"FROM {tables_made[-1]}").fetchall()
            columns[way] = con.execute(f"DESCRIBE {tables_made[-1]}").fetchall()
            con.execute("ROLLBACK")
        assert not rows["empty"], (name, tables)
        assert not rows["skipped"], name
        assert columns["skipped"] == columns["full"], name
        with_rows |= {name} if rows["full"] else set()
    assert len(with_rows) > 10, f"{len(with_rows)}: the data is too poor to test this"


def test_what_is_loaded_or_added(con: duckdb.DuckDBPyConnection) -> None:
    with_rows = set()
    added = [(name, tables) for name, tables in clauses("compare") if is_added(*filled(resources.sql(name)))]
    for name, tables in (*clauses("compare/load"), *added):
        count = " + ".join(f"(SELECT count(*) FROM {table})" for table in sorted(filled(resources.sql(name))[1]))
        counts = []
        for emptied in ((), tables):
            con.execute("BEGIN")
            for statement in re.findall(r"(?ms)^CREATE TABLE IF NOT EXISTS .*?^\);", resources.sql(name)):
                con.execute(statement)  # a later statement may have dropped it
            empty(con, emptied)
            before = con.execute(f"SELECT {count}").fetchall()
            con.execute(resources.sql(name))
            counts.append(con.execute(f"SELECT {count}").fetchall() != before)
            con.execute("ROLLBACK")
        assert not counts[1], (name, tables)
        with_rows |= {name} if counts[0] else set()
    assert len(with_rows) > 12, f"{len(with_rows)}: the data is too poor to test this"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["verl_default_new", "text_level1_new", "trace of a CPU"])
def test_stores_are_the_same_whatever_is_skipped(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = INPUTS / kind
    if not given.exists():
        given = tmp_path / "trace.json"
        event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "dur": 4}
        events = [{**event, "ts": 10 * place, "args": {"External id": place + 1}} for place in range(20)]
        given.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}))
    found = []
    for skips in (True, False):
        if not skips:
            monkeypatch.setattr(resources.EmptyTables, "skips", lambda *_: False)
        path = tmp_path / f"{skips}.duckdb"
        (run,) = find_runs(given)
        build_store(run, path, keep_events=True, threads=1)
        with duckdb.connect(str(path), read_only=True) as store:
            tables = store.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
            found.append({table: store.execute(f'FROM "{table}" ORDER BY ALL').fetchall() for (table,) in tables})
    assert found[0] == found[1]
    assert any(found[0].values())
