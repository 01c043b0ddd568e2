"""The queries of docs/sql.md run as they stand, and the page is what ``tools/sql_reference.py`` makes."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tools import sql_reference

PAGE = sql_reference.TARGET.read_text("utf-8")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sql_reference.sample_store(tmp_path_factory.mktemp("sql"))


@pytest.mark.slow
def test_each_query_gives_rows(store: Path) -> None:
    queries = sql_reference.queries_of(PAGE)
    assert len(queries) == 10
    with duckdb.connect(str(store), read_only=True) as con:
        for query in queries:
            assert con.execute(query).fetchall(), query


@pytest.mark.slow
def test_the_page_is_current(store: Path) -> None:
    assert sql_reference.completed(PAGE, store) == PAGE, f"run {sql_reference.REGENERATE}"


def test_the_page_lists_every_table_and_view_of_a_store(store: Path) -> None:
    with duckdb.connect(str(store), read_only=True) as con:
        names = con.execute("SELECT table_name, column_name FROM information_schema.columns").fetchall()
    for table, column in names:
        section = PAGE.split(f"**`{table}`**: ")[1].split("**`")[0]
        assert f"\n| `{column}` | " in section, f"{table}.{column}"


def test_a_changed_result_is_noticed(store: Path) -> None:
    changed = PAGE.replace("MatMulV2             72.000", "MatMulV2             73.000")
    assert changed != PAGE
    assert sql_reference.completed(changed, store) == PAGE
