"""Real 910B databases against what others computed from them: FACTS.json, analysis.db, and msprof-analyze."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rlcompare.sources.detect import find_runs
from rlcompare.store.build import build_store
from tests.stores import rows, store_of

DATABASES = [(level, rank) for level in ("level0", "level1") for rank in (0, 1)]


@pytest.fixture(scope="module", params=DATABASES, ids=lambda p: f"{p[0]}-rank{p[1]}")
def case(
    request: pytest.FixtureRequest, ascend_910b: Path, shared: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path, dict[str, Any]]:
    """(profile folder, its store, its facts)."""
    level, rank = request.param
    folder = ascend_910b / "db" / level / f"rank{rank}_ascend_pt"
    facts = json.loads((shared / "profiles" / "FACTS.json").read_text())
    name = f"{folder.relative_to(shared / 'profiles')}/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_{rank}.db"
    return folder, store_of(folder, tmp_path_factory.mktemp("store") / "run.duckdb"), facts[name]


@pytest.mark.slow
def test_step_times_equal_analysis_db_to_the_nanosecond(case: tuple[Path, Path, dict[str, Any]]) -> None:
    # GIVEN the profiler's own step times, in microseconds
    folder, store, _ = case
    analysis = folder / "ASCEND_PROFILER_OUTPUT" / "analysis.db"
    con = sqlite3.connect(f"file:{analysis}?mode=ro", uri=True)
    reported = con.execute(
        "SELECT computing, communication_not_overlapped, overlapped, communication, free, stage, preparing"
        " FROM StepTraceTime"
    ).fetchall()
    con.close()
    # WHEN they are computed from the tasks
    computed = rows(
        store,
        "SELECT compute_ns, exposed_comm_ns, overlapped_comm_ns, comm_ns, free_ns, stage_ns, preparing_ns"
        " FROM r_time ORDER BY step",
    )
    # THEN they are the same
    assert computed == [tuple(round(value * 1000) for value in row) for row in reported]


def test_parts_sum_to_the_span_and_the_span_to_the_step(case: tuple[Path, Path, dict[str, Any]]) -> None:
    _, store, _ = case
    ((span, parts, step, whole),) = rows(
        store,
        "SELECT device_span_ns, compute_ns + exposed_comm_ns + free_ns,"
        " step_ns, preparing_ns + device_span_ns + tail_ns FROM r_time",
    )
    assert parts == span
    assert whole == step


def test_counts_and_sums_equal_the_facts(case: tuple[Path, Path, dict[str, Any]]) -> None:
    _, store, facts = case
    assert rows(store, "SELECT count(*), sum(end_ns - start_ns) FROM kernel") == [
        (facts["compute"]["n"], facts["compute"]["sum_ns"])
    ]
    assert rows(store, "SELECT count(*), sum(end_ns - start_ns) FROM collective") == [
        (sum(row[1] for row in facts["comm"]["by_type"]), sum(row[2] for row in facts["comm"]["by_type"]))
    ]
    assert rows(store, "SELECT count(*) FROM collective_task") == [(facts["tables"]["COMMUNICATION_TASK_INFO"],)]
    # ProfilerStep#50 is a row of PYTORCH_API but a step, not an operator
    operators = {kind: count for kind, count, _ in facts["pytorch_api"]}[50001]
    assert rows(store, "SELECT count(*) FROM host_op") in ([(operators,)], [(operators - 1,)])
    assert rows(store, "SELECT count(*) FROM host_api") == [(facts["tables"]["CANN_API"],)]
    assert rows(store, "SELECT count(*) FROM allocation") == [(facts["tables"]["OP_MEMORY"],)]
    assert rows(store, "SELECT count(*) FROM pmu") == [(facts["tables"].get("TASK_PMU_INFO", 0),)]
    assert rows(store, "SELECT step, start_ns, end_ns FROM step") == [tuple(row) for row in facts["STEP_TIME"]]


def test_every_kernel_is_linked_to_an_operator_and_a_step(case: tuple[Path, Path, dict[str, Any]]) -> None:
    _, store, facts = case
    assert rows(store, "SELECT count(host_op_id), count(step) FROM kernel") == [(facts["compute"]["n"],) * 2]


def test_overall_metrics_equal_msprof_analyze(case: tuple[Path, Path, dict[str, Any]], shared: Path) -> None:
    # GIVEN msprof-analyze's table of this rank
    folder, store, _ = case
    level, rank = folder.parent.name, int(folder.name[4])
    oracle = json.loads((shared / "oracle" / "msprof_compare.json").read_text())
    expected = oracle[f"db/{level}: baseline rank0, new rank1"]["OverallMetrics"]["rows"]
    column = 1 if rank == 0 else 4
    expected_by_name = {
        row[0].strip(): (row[column], None if row[column + 2] == "/" else row[column + 2])
        for row in expected
        if row[0].strip() not in ("Wait", "Transmit")
    }
    # WHEN we compute it in its definitions
    ours = {
        name: (total / 1e6, calls)
        for name, total, calls in rows(
            store, "SELECT name, total_ns, calls FROM r_msprof WHERE sheet = 'OverallMetrics'"
        )
    }
    # THEN every row is there, with its time and its count
    assert set(ours) == set(expected_by_name)
    for name, (milliseconds, calls) in expected_by_name.items():
        assert ours[name][0] == pytest.approx(milliseconds, abs=0.001), name
        assert ours[name][1] == calls, name


def test_kernels_equal_msprof_analyze(case: tuple[Path, Path, dict[str, Any]], shared: Path) -> None:
    folder, store, _ = case
    level, rank = folder.parent.name, int(folder.name[4])
    oracle = json.loads((shared / "oracle" / "msprof_compare.json").read_text())
    expected = oracle[f"db/{level}: baseline rank0, new rank1"]["KernelCompare"]["rows"]
    column = 3 if rank == 0 else 8
    expected_by_key = {(row[1], row[2].strip('"')): (row[column], row[column + 4]) for row in expected}
    ours = {
        (name, shapes): (total / 1e3, calls)
        for name, shapes, total, calls in rows(
            store, "SELECT name, input_shapes, total_ns, calls FROM r_msprof WHERE sheet = 'KernelCompare'"
        )
    }
    assert set(ours) == set(expected_by_key)
    for key, (microseconds, calls) in expected_by_key.items():
        assert ours[key] == (pytest.approx(microseconds, abs=0.0051), calls), key


@pytest.mark.slow
def test_chosen_steps_are_all_that_is_kept(ascend_910b: Path, tmp_path: Path) -> None:
    # GIVEN a database of three steps, a second apart
    database = tmp_path / "ascend_pytorch_profiler_0.db"
    source = ascend_910b / "db" / "level1" / "rank0_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / database.name
    scale = ascend_910b.parents[1] / "tools" / "scale_ascend_db.py"
    subprocess.run([sys.executable, str(scale), str(source), str(database), "3"], check=True)
    # WHEN one is chosen, or all are read
    (run,) = find_runs(database)
    build_store(replace(run, steps=frozenset({51})), tmp_path / "one.duckdb", keep_events=True)
    build_store(run, tmp_path / "all.duckdb", keep_events=True)
    # THEN the one is as it is among all
    for query in (
        "SELECT * FROM r_time WHERE step = 51",
        "SELECT * EXCLUDE (id, parent_id) FROM host_op WHERE step = 51 ORDER BY ALL",
        "SELECT * EXCLUDE (host_op_id) FROM kernel WHERE step = 51 ORDER BY ALL",
        "SELECT * FROM r_api WHERE step = 51 ORDER BY ALL",
    ):
        assert rows(tmp_path / "one.duckdb", query) == rows(tmp_path / "all.duckdb", query)
    # AND nothing else is left
    assert rows(
        tmp_path / "one.duckdb", "SELECT DISTINCT step FROM host_op UNION SELECT DISTINCT step FROM kernel"
    ) == [(51,)]
    assert rows(tmp_path / "one.duckdb", "SELECT count(*) FROM kernel") == [(187,)]
    assert rows(tmp_path / "all.duckdb", "SELECT count(*) FROM kernel") == [(3 * 187,)]
