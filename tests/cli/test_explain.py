"""``rlcompare explain``: the rows, queries and files behind a cause or a metric."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Command


@pytest.fixture
def document(rlcompare: Command, samples: Path, tmp_path: Path) -> Path:
    for name in ("base", "new"):
        Path(name).symlink_to(samples / name)
    assert rlcompare("diff", "-bp", "base", "-d", "new", "-o", tmp_path / "out").code == 0
    return tmp_path / "out" / "diff.json"


@pytest.mark.slow
def test_a_cause_is_the_sum_of_its_rows(rlcompare: Command, document: Path) -> None:
    found = json.loads(document.read_bytes())
    for cause in found["causes"]:
        assert sum(row["delta_ms"] for row in cause["rows"]) == pytest.approx(cause["delta_ms"])

    result = rlcompare("explain", "1", document)

    assert result.code == 0
    first = found["causes"][0]
    lines = result.out.splitlines()
    assert lines[0].startswith(f"cause 1 of {len(found['causes'])}: ")
    assert lines[1] == first["text"]
    for row in first["rows"]:
        assert any(str(row["phase"]) in line and row["name"] in line for line in lines)
    assert any(line.startswith("query     sql/compare/critical_path.sql") for line in lines)


@pytest.mark.slow
def test_the_command_prints_the_rows_of_the_profile(rlcompare: Command, document: Path) -> None:
    lines = rlcompare("explain", "1", document).out.splitlines()
    (command,) = (line.removeprefix("new").strip() for line in lines if line.startswith("new       rlcompare sql"))

    result = rlcompare(*shlex.split(command)[1:], "--format", "json")

    rows = json.loads(result.out)
    assert rows and {row["kind"] for row in rows} == {"compute"}
    assert {row["op_type"] for row in rows} == {"MatMulV2"}


@pytest.mark.slow
def test_a_metric_names_its_runs_query_and_files(rlcompare: Command, document: Path) -> None:
    result = rlcompare("explain", "time.step", document)
    assert result.code == 0
    assert result.out.startswith("time.step  ")
    assert "sql/compare/time_value.sql, from table r_time" in result.out
    assert "_ascend_pt" in result.out


@pytest.mark.slow
def test_what_is_not_there_is_a_usage_error(rlcompare: Command, document: Path, tmp_path: Path) -> None:
    result = rlcompare("explain", "99", document)
    assert (result.code, result.out) == (2, "")
    assert "has no cause or metric '99'; it has causes 1 to" in result.err
    result = rlcompare("explain", "1", tmp_path / "missing.json")
    assert result.code == 4
    assert "Pass the diff.json that rlcompare diff wrote" in result.err


def test_the_queries_it_names_exist() -> None:
    from rlcompare import resources
    from rlcompare.report.explain import _QUERIES

    for _, query, table in _QUERIES:
        assert resources.sql(query.removeprefix("sql/").removesuffix(".sql"))
        assert any(
            name.endswith(f"/{table}")
            for folder in ("run", "rollup")
            for name in resources.sql_names(f"schema/{folder}")
        )


@pytest.mark.slow
def test_the_path_of_a_job_comes_from_its_own_query(rlcompare: Command, document: Path) -> None:
    lines = rlcompare("explain", "time.path", document).out.splitlines()
    assert "query     sql/compare/path_sample.sql, from table r_path of each run" in lines
