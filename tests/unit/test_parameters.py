"""Values in statements: literals are read back as they were, and a warm comparison passes DuckDB no parameters."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlcompare import db
from rlcompare.compare import CompareOptions, compare_runs
from tests.sql.rollup_stores import side
from tests.stores import store_of

INPUTS = Path(__file__).resolve().parents[2] / "golden" / "inputs"
ODD = ["it's", "'; DROP TABLE t; --", "back\\slash", "a\0b", "日本", "", "{name}", "$1 ?", "a\r\nb"]


@pytest.mark.slow
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1), st.integers(-(2**63), 2**63 - 1))
def test_literals_are_read_back(texts: list[str], number: int) -> None:
    with duckdb.connect() as con:
        for value in (*ODD, *texts, texts, ODD, number, True, None, [1, number]):
            db.set_variable(con, "value", value)
            assert con.execute("SELECT getvariable('value')").fetchall() == [(value,)]
        db.set_variable(con, "value", [], "BIGINT[]")
        assert con.execute("SELECT getvariable('value'), typeof(getvariable('value'))").fetchall() == [([], "BIGINT[]")]


def test_a_comparison_of_stores_does_not_ask_for_pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Finder:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            asked.extend([name] if name == "pandas" else [])

    stores = [store_of(INPUTS / f"text_level1_{name}", tmp_path / f"{name}.duckdb") for name in ("baseline", "new")]
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    duckdb.execute("SELECT ?", [1])
    if not asked:
        pytest.skip("DuckDB has loaded pandas in this process")
    asked.clear()
    assert compare_runs(side("a", stores[0]), side("b", stores[1]), CompareOptions()).sections
    assert not asked
