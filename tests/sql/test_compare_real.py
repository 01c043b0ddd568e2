"""Comparisons of real profiles, against what msprof-analyze and the profiler themselves said."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rlcompare.model.diff import Diff
from tests.sql.rollup_stores import compared, found, values
from tests.stores import store_of

pytestmark = pytest.mark.slow

PAIRS = [("db", "level0"), ("db", "level1"), ("text", "level0"), ("text", "level1")]
WRONG_ROWS = ("Wait", "Transmit")


@pytest.fixture(scope="module")
def ascend_910b_module(shared: Path) -> Path:
    return shared / "profiles" / "ascend-910b-2025-level01"


@pytest.fixture(scope="module")
def diffs(ascend_910b_module: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Diff]:
    folder = tmp_path_factory.mktemp("real")
    made = {}
    for form, level in PAIRS:
        stores = [
            store_of(
                ascend_910b_module / form / level / f"rank{rank}_ascend_pt",
                folder / f"{form}_{level}_{rank}.duckdb",
                prefer=form,
                keep_events=False,
            )
            for rank in (0, 1)
        ]
        made[form, level] = compared(*stores)
    return made


@pytest.mark.parametrize(("form", "level"), PAIRS)
def test_overall_metrics_equal_those_of_msprof_analyze(
    diffs: dict[tuple[str, str], Diff], shared: Path, form: str, level: str
) -> None:
    oracle: dict[str, Any] = json.loads((shared / "oracle" / "msprof_compare.json").read_text())
    expected = oracle[f"{form}/{level}: baseline rank0, new rank1"]["OverallMetrics"]["rows"]
    rows = [row for row in diffs[form, level].sections["msprof"].rows if row["sheet"] == "OverallMetrics"]
    wanted = [row for row in expected if row[0].strip() not in WRONG_ROWS]
    assert len(rows) == len(wanted)
    for row, (label, baseline, _, baseline_count, new, _, new_count, *_) in zip(rows, wanted, strict=True):
        if "%" not in label and "Group" not in label:  # names of communication groups are each tool's own
            assert row["name"] == label.strip()
        assert row["depth"] == label.count("\t")
        assert (row["baseline"], row["new"]) == (pytest.approx(baseline, abs=0.001), pytest.approx(new, abs=0.001))
        for ours, theirs in ((row["baseline_calls"], baseline_count), (row["new_calls"], new_count)):
            assert (ours if ours is not None else "/") == theirs


@pytest.mark.parametrize("level", ["level0", "level1"])
def test_step_times_equal_what_the_profiler_reported(
    diffs: dict[tuple[str, str], Diff], ascend_910b_module: Path, level: str
) -> None:
    for place, rank in enumerate((0, 1)):
        analysis = (
            ascend_910b_module / "db" / level / f"rank{rank}_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / "analysis.db"
        )
        reported = step_trace_time(analysis)
        for metric, column in (
            ("compute", "computing"),
            ("exposed_comm", "communication_not_overlapped"),
            ("overlapped_comm", "overlapped"),
            ("comm", "communication"),
            ("free", "free"),
            ("stage", "stage"),
            ("bubble", "bubble"),
            ("preparing", "preparing"),
        ):
            assert values(diffs["db", level], f"time.{metric}")[place] == pytest.approx(
                reported[column] / 1000, abs=1e-7
            )


def step_trace_time(path: Path) -> dict[str, float]:
    """The only row of StepTraceTime, in microseconds."""
    with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as con:
        cursor = con.execute("SELECT * FROM StepTraceTime")
        (row,) = cursor.fetchall()
        return dict(zip([column[0] for column in cursor.description], row, strict=True))


def test_profiles_of_one_job_hold_no_quality_cautions(diffs: dict[tuple[str, str], Diff]) -> None:
    for diff in diffs.values():
        assert [finding for finding in diff.quality if finding.key == "reported_differs"] == []
        assert [(finding.key, finding.severity) for finding in diff.comparability.findings] == [("ranks", "info")]


def test_levels_are_compared_with_a_warning_and_by_name(ascend_910b_module: Path, tmp_path: Path) -> None:
    stores = [
        store_of(ascend_910b_module / "db" / level / "rank0_ascend_pt", tmp_path / f"{level}.duckdb", keep_events=False)
        for level in ("level0", "level1")
    ]
    diff = compared(*stores)
    assert {finding.key for finding in diff.comparability.findings if finding.severity == "caution"} >= {
        "profiler.level"
    }
    assert (diff.sections["kernels"].matched_share or 0) > 0.95
    assert "by name" in diff.sections["kernels"].note


def test_groups_of_two_runs_meet_although_their_names_differ(ascend_910b: Path, tmp_path: Path) -> None:
    """The only group of the rank is called by address, port and time: another time, another name."""
    copies = []
    for name, group in (("old", None), ("new", "10.9.8.7%eth1_50000_0_1836410538306028")):
        shutil.copytree(ascend_910b / "db" / "level1" / "rank0_ascend_pt", tmp_path / name)
        path = tmp_path / name / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_0.db"
        path.chmod(0o644)
        if group:
            with sqlite3.connect(path) as con:
                con.execute(
                    "UPDATE STRING_IDS SET value = ? WHERE id IN (SELECT groupName FROM COMMUNICATION_OP)", [group]
                )
        copies.append(store_of(tmp_path / name, tmp_path / f"{name}.duckdb", keep_events=False))
    rows = compared(*copies).sections["msprof"].rows
    assert {(row["presence"], row["delta"]) for row in rows} == {("both", 0)}


def test_ranks_with_communication_alone(profiles: Path, tmp_path: Path) -> None:
    """PP2 of Qwen3: ranks 1 and 3 hold no kernel files. Means of computation are over ranks 0 and 2."""
    store = store_of(profiles / "ascend-qwen3-pp2-2025q4", tmp_path / "qwen.duckdb", keep_events=False)
    diff = compared(store, store)
    with duckdb.connect(str(store), read_only=True) as con:
        known = con.execute("SELECT avg(compute_ns), count(compute_ns), avg(comm_ns), count(*) FROM r_time").fetchone()
    assert known is not None and known[1] < known[3]
    assert values(diff, "time.compute")[0] == pytest.approx(known[0] / 1e6)
    assert values(diff, "time.comm")[0] == pytest.approx(known[2] / 1e6)
    assert found(diff, "ranks", "rank 1")["baseline_compute"] is None
    assert any(finding.key == "partly_measured" for finding in diff.quality)
    assert all(delta.delta == 0 for delta in diff.overall)
