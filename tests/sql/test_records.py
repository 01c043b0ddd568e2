"""The types that hold the rows of ``sql/compare``, against the columns and types that DuckDB gives."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import pytest

from rlcompare import resources
from rlcompare.compare import CompareOptions, RunStore, SideInput, pairs, records
from rlcompare.compare.rollups import Rollups, query_of
from rlcompare.sql_order import is_query
from tests.sql.rollup_stores import RollupStore

MADE_IN_PYTHON = {pairs.StepPair, pairs.RankPair, pairs.TimerPair}
PYTHON_TYPES = {
    "VARCHAR": "str",
    "BOOLEAN": "bool",
    "DOUBLE": "float",
    "INTEGER": "int",
    "BIGINT": "int",
    "UBIGINT": "int",
    "VARCHAR[]": "list[str]",
    "INTEGER[]": "list[int]",
    "BIGINT[]": "list[int]",
    "DOUBLE[]": "list[float]",
}


OF_STORE = (records.KnownSelection, records.TimelineBusy, records.TimelineTask)
"""Records of queries that ask an attached store."""


def record_types() -> list[type[Any]]:
    found = [kind for module in (records, pairs) for _, kind in inspect.getmembers(module, inspect.isclass)]
    return [kind for kind in found if issubclass(kind, tuple) and kind is not NamedTuple and kind not in MADE_IN_PYTHON]


@pytest.fixture(scope="module")
def rollups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rollups]:
    folder = tmp_path_factory.mktemp("stores")

    def side(name: str) -> SideInput:
        path = RollupStore(folder / f"{name}.duckdb").capture().step(1).time(1, 5).done()
        return SideInput(name, (RunStore(name, name, path),))

    with Rollups(side("baseline"), side("new"), CompareOptions()) as opened:
        yield opened


def test_each_record_has_the_columns_of_its_query(rollups: Rollups) -> None:
    for kind in record_types():
        if kind in OF_STORE:
            continue
        with rollups._cursor() as cursor:
            result = cursor.execute(resources.sql(f"compare/{query_of(kind)}"))
            described = [(name, str(given)) for name, given, *_ in result.description or ()]
        columns = {name: PYTHON_TYPES["VARCHAR" if given.startswith("ENUM") else given] for name, given in described}
        fields = {name: plain(hint) for name, hint in get_type_hints(kind).items()}
        assert list(fields.items()) == list(columns.items()), query_of(kind)


def plain(hint: Any) -> str:
    """A field's type without None; the names of the sides are text."""
    text = str(hint).replace(" | None", "")
    if "Literal" in text:
        return "str"
    return text if text.startswith("list") else text.removeprefix("<class '").removesuffix("'>")


def test_each_query_of_a_comparison_has_a_record() -> None:
    queries = {name.rpartition("/")[2] for name in resources.sql_names("compare") if is_query(resources.sql(name))}
    assert {query_of(kind) for kind in record_types()} == queries


def test_a_query_that_does_not_fit_its_record_is_refused(rollups: Rollups) -> None:
    class Measured(NamedTuple):
        side: str
        what: str

    with pytest.raises(AssertionError, match=r"sql/compare/measured\.sql gives \('side', 'domain'\)"):
        rollups.rows(Measured)


def test_none_is_kept(tmp_path: Path, rollups: Rollups) -> None:
    (rank, _) = rollups.rows(records.Rank)
    assert (rank.compute_ns, rank.comm_ns, rank.step_ns, rank.late_ns) == (5, 0, None, None)
