"""Real torch.profiler traces against FACTS.json, which was computed from the same files by other means."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from gzip import open as gzip_open
from pathlib import Path
from typing import Any

import pytest

from rlcompare.model.diff import Diff
from rlcompare.sources.detect import find_runs
from rlcompare.store.build import build_store
from tests.conftest import shared_folder
from tests.sources.torch_traces import read
from tests.sql.rollup_stores import compared, values
from tests.stores import rows, store_of


def _facts() -> dict[str, dict[str, Any]]:
    """The facts of the torch traces by path; none where the profiles are absent."""
    folder = shared_folder()
    if folder is None:
        return {}
    facts = json.loads((folder / "profiles" / "FACTS.json").read_text())
    return {path: fact for path, fact in facts.items() if path.startswith(("gpu-", "cpu-"))}


FACTS = _facts()
SETS = Counter(path.split("/")[0] for path in FACTS)
UNION = """
    SELECT count(*), coalesce(sum(end_ns - start_ns), 0)::BIGINT,
           coalesce(sum(greatest(end_ns - greatest(start_ns, coalesce(covered, start_ns)), 0)), 0)::BIGINT
    FROM (SELECT *, max(end_ns) OVER (ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
                    AS covered
          FROM (SELECT start_ns, end_ns FROM stage_kernel UNION ALL SELECT start_ns, end_ns FROM stage_collective
                WHERE (SELECT executor FROM capture) = 'device'))
"""


@pytest.mark.parametrize("path", FACTS or [pytest.param("", marks=pytest.mark.skip(reason="the profiles are absent"))])
def test_every_figure_equals_the_facts(profiles: Path, path: str) -> None:
    fact = FACTS[path]
    (run,) = find_runs(profiles / path)
    (capture,) = run.captures
    distributed: Any = capture.info.get("distributedInfo", {})
    in_name = 0 if path.endswith("sampled_rank-0.json.gz") else None
    assert (capture.rank, distributed.get("world_size"), distributed.get("backend")) == (
        fact["rank"] if fact["rank"] is not None else in_name,
        fact["world_size"],
        fact["backend"],
    )
    assert capture.info.get("devices", []) == sorted({name for name in fact["device"] if name})
    reading = read(profiles / path)
    kernels = fact["kernels"]
    assert reading.con.execute(UNION).fetchall() == [(kernels["n"], kernels["sum_ns"], kernels["union_ns"])]
    streams = reading.con.execute("SELECT stream::VARCHAR, count(*) FROM stage_kernel GROUP BY 1").fetchall()
    collectives = reading.con.execute("SELECT count(*) FROM stage_collective").fetchall()
    if kernels["n"]:
        assert collectives == [(kernels["nccl_n"],)]
        assert sum(count for _, count in streams) == kernels["n"] - kernels["nccl_n"]
        assert {stream for stream, _ in streams} <= kernels["streams"].keys()
    steps = reading.con.execute("SELECT 'ProfilerStep#' || step, end_ns - start_ns FROM stage_step").fetchall()
    marked = {(name, length) for name, category, length in fact["steps"] if category != "gpu_user_annotation"}
    assert set(steps) == marked


def test_all_sets_are_there() -> None:
    if not FACTS:
        pytest.skip("the real profiles are not here (set RLCOMPARE_SHARED to their folder)")
    assert SETS["gpu-dlrm-8rank"] == 8
    assert SETS["gpu-resnet50-dataloader-ab"] == 4
    assert SETS["cpu-torch213-2rank"] == 4


@pytest.mark.slow
@pytest.mark.parametrize(("vendor", "spilled"), [("h100", 436), ("mi300", 463)])
def test_kernels_of_the_warm_up_belong_to_no_step(profiles: Path, tmp_path: Path, vendor: str, spilled: int) -> None:
    # GIVEN a trace whose window begins with kernels that the warm-up step launched
    path = profiles / f"gpu-h100-vs-mi300-dev/{vendor}/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"
    # WHEN it is read
    store = store_of(path, tmp_path / "run.duckdb")
    # THEN they have neither a step nor a launch, and all others have both
    assert rows(store, "SELECT count(*), count(host_op_id) FROM kernel WHERE step IS NULL") == [(spilled, 0)]
    assert rows(store, "SELECT count(*) FROM kernel WHERE step = 6 AND host_op_id IS NULL") == [(0,)]
    # AND the memory that they took is known, as PTA on Ascend
    ((peak,),) = rows(store, "SELECT peak_allocated_bytes FROM r_memory WHERE component = 'PTA'")
    assert peak == max(
        event["args"]["Total Allocated"]
        for event in _events(path)
        if event["name"] == "[memory]" and event["args"]["Device Type"] != 0
    )


@pytest.mark.slow
def test_step_by_launch_not_by_time(profiles: Path, tmp_path: Path) -> None:
    (path,) = (profiles / "gpu-dlrm-8rank").glob("worker1_*")
    store = store_of(path, tmp_path / "run.duckdb")
    ((launched,),) = rows(store, "SELECT kernels + collectives FROM r_time")
    ((by_time,),) = rows(
        store,
        "SELECT count(*) FROM (SELECT start_ns AS ns FROM kernel UNION ALL SELECT start_ns FROM collective), step"
        " WHERE ns BETWEEN step.start_ns AND step.end_ns",
    )
    # 64 kernels that the warm-up launched run inside the host's step.
    assert (launched, by_time) == (246, 246 + 64)


@pytest.mark.slow
def test_ranks_that_take_turns_have_no_straggler(profiles: Path, tmp_path: Path) -> None:
    # GIVEN eight ranks that compute the same, rank 7 with the shortest span
    store = store_of(profiles / "gpu-dlrm-8rank", tmp_path / "run.duckdb", keep_events=False)
    assert rows(store, "SELECT rank FROM r_time JOIN capture USING (capture) ORDER BY device_span_ns LIMIT 1") == [(7,)]
    # WHEN they are compared
    diff = compared(store, store)
    # THEN it is the one that starts collectives last on average, by a fifth more than the next: none is the straggler
    ranks = {row["name"]: row for row in diff.sections["ranks"].rows}
    late = sorted(((float(row["new_late_ms"] or 0), name) for name, row in ranks.items()), reverse=True)
    assert [name for _, name in late[:2]] == ["rank 7", "rank 2"] and late[0][0] < 1.25 * late[1][0]
    assert not any(row["new_straggler"] for row in ranks.values())
    assert len(ranks) == 8
    # AND what they are is told by the annotations around their launches
    kinds = dict(rows(store, "SELECT kind, count(*) FROM r_collective WHERE capture = 0 GROUP BY kind"))
    assert kinds == {"all_to_all": 5, "all_reduce": 3}


@pytest.mark.slow
def test_more_workers_of_a_data_loader_leave_the_device_less_free(profiles: Path, tmp_path: Path) -> None:
    stores = []
    for workers in (0, 4):
        runs = find_runs(profiles / f"gpu-resnet50-dataloader-ab/resnet50_num_workers_{workers}")
        assert [len(run.captures) for run in runs] == [1, 1], "two captures without a rank are two runs"
        build_store(runs[0], tmp_path / f"{workers}.duckdb", keep_events=False, threads=1)
        stores.append(tmp_path / f"{workers}.duckdb")
    diff = compared(*stores)
    # Of the whole capture half is gone; of a step it is the wait before its first kernel.
    (free,) = [row for row in diff.sections["msprof"].rows if row["name"] == "Free Time"]
    assert float(free["new"] or 0) < 0.6 * float(free["baseline"] or 0)
    assert _change(diff, "time.step_free") < -15
    assert _change(diff, "time.preparing") < -30
    assert _change(diff, "time.step") < -15


@pytest.mark.slow
def test_host_alone_against_painting(profiles: Path, tmp_path: Path) -> None:
    # GIVEN a trace of the host alone
    path = next((profiles / "cpu-torch213-2rank/base").glob("rank1.*"))
    store = store_of(path, tmp_path / "run.duckdb")
    assert rows(store, "SELECT tool, executor FROM capture") == [("torch", "host")]
    assert rows(store, "SELECT count(*) FROM kernel") == [(0,)]
    # WHEN its operators and collectives are painted onto a line, each event by its own text
    for step, compute, comm, exposed, free in rows(
        store, "SELECT step, compute_ns, comm_ns, exposed_comm_ns, free_ns FROM r_time ORDER BY step"
    ):
        events = _events(path)
        (window,) = [_interval(event) for event in events if event["name"] == f"ProfilerStep#{step}"]
        inside = [
            (event, *_interval(event))
            for event in events
            if event["ph"] == "X" and window[0] <= _interval(event)[0] <= window[1]
        ]
        operators = [(start, end) for event, start, end in inside if event["name"].startswith("aten::")]
        communication = [(start, end) for event, start, end in inside if event["name"].startswith("gloo:")]
        both = operators + communication
        # THEN the lengths are the same to the nanosecond
        assert compute == _length(operators)
        assert comm == _length(communication)
        assert exposed == _length(both) - compute
        assert free == max(end for _, end in both) - min(start for start, _ in both) - _length(both)


@pytest.mark.slow
def test_phases_and_collectives_of_the_host_meet(profiles: Path, tmp_path: Path) -> None:
    stores = [
        store_of(profiles / "cpu-torch213-2rank" / side, tmp_path / f"{side}.duckdb", keep_events=False)
        for side in ("base", "changed")
    ]
    diff = compared(*stores)
    phases = {row["name"]: row for row in diff.sections["phases"].rows}
    assert {"generate_sequences", "update_actor"} <= phases.keys()
    (collective,) = diff.sections["collectives"].rows
    assert (collective["name"], collective["baseline_calls"]) == ("all_reduce", 1)
    assert not diff.sections["kernels"].rows
    operators = {row["name"]: row["presence"] for row in diff.sections["operators"].rows}
    assert operators["aten::sort"] == "new_only"
    for metric in ("time.compute", "time.exposed_comm", "time.free"):
        assert all(value and value > 0 for value in values(diff, metric))


def _change(diff: Diff, metric: str) -> float:
    baseline, new = values(diff, metric)
    assert baseline is not None
    assert new is not None
    return new - baseline


def _events(path: Path) -> list[dict[str, Any]]:
    with gzip_open(path, "rt") as file:
        events: list[dict[str, Any]] = json.load(file, parse_float=Decimal)["traceEvents"]
    return events


def _interval(event: dict[str, Any]) -> tuple[int, int]:
    start = BASE + int(Decimal(event["ts"]) * 1000)
    return start, start + int(Decimal(event["dur"]) * 1000)


BASE = 1_790_857_026_000_000_000


def _length(intervals: list[tuple[int, int]]) -> int:
    covered = total = 0
    for start, end in sorted(intervals):
        total += max(end - max(start, covered), 0)
        covered = max(covered, end)
    return total
