"""The account of real profiles: it sums to every step, and equals what a painter reads from the trace itself."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rlcompare.model.diff import Diff
from rlcompare.sources.detect import find_runs
from rlcompare.store.build import build_store
from tests.sql.rollup_stores import compared
from tests.stores import rows, store_of

pytestmark = pytest.mark.slow

SUBJECTS = {
    0: "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    4: "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
}
PROFILES = (
    "ascend-910b-2025-level01/db/level0",
    "ascend-910b-2025-level01/db/level1",
    "ascend-910b-2025-level01/text/level0",
    "ascend-910b-2025-level01/text/level1",
    "ascend-qwen3-pp2-2025q4",
    "cpu-torch213-2rank",
    "gpu-dlrm-8rank",
    "gpu-h100-vs-mi300-dev",
    "gpu-hta-128rank-sampled",
    "gpu-inference-graph-dev",
    "gpu-resnet50-dataloader-ab",
    "gpu-small-oddities-dev",
)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("profile", PROFILES)
def test_it_sums_to_every_step(shared: Path, tmp_path: Path, profile: str) -> None:
    steps = 0
    for number, run in enumerate(find_runs(shared / "profiles" / profile)):
        store = tmp_path / f"{number}.duckdb"
        build_store(run, store, keep_events=False)
        found = rows(
            store,
            "SELECT t.capture, t.device_id, t.step, coalesce(t.step_ns, t.device_span_ns), a.ns FROM r_time AS t"
            " LEFT JOIN (SELECT capture, device_id, step, sum(ns) AS ns FROM r_account GROUP BY ALL) AS a"
            " ON a.capture = t.capture AND a.step = t.step AND a.device_id IS NOT DISTINCT FROM t.device_id"
            # Without marks and kernels, the span is that of the collectives, which r_time does not give.
            " WHERE t.step_ns IS NOT NULL OR t.device_span_ns > 0",
        )
        steps += len(found)
        assert [row for row in found if row[3] != row[4]] == []
        assert rows(store, "FROM r_account WHERE ns <= 0 OR pieces <= 0") == []
    assert steps > 0


def events(path: Path) -> list[dict[str, Any]]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    found = [event for event in json.loads(text)["traceEvents"] if event.get("ph") == "X"]
    return [event | {"cat": event["cat"].lower().removeprefix("gpu_")} for event in found]


def painted(
    found: list[dict[str, Any]], chosen: Callable[[dict[str, Any]], bool], start: int, length: int, unit: int = 1
) -> np.ndarray:
    """Which nanoseconds (or units of several) from ``start`` on the chosen events cover."""
    line = np.zeros(length // unit, dtype=bool)
    for event in found:
        if chosen(event):
            first, last = (
                divmod(round(ts * 1000) - start, unit)[0] for ts in (event["ts"], event["ts"] + event["dur"])
            )
            line[max(first, 0) : max(last, 0)] = True
    return line


def by_kind(found: list[dict[str, Any]], unit: int = 1) -> dict[str, np.ndarray]:
    """For each kind, which nanoseconds of the steps it has, and "idle" the rest; from the first step's start on.

    Args:
        unit: nanoseconds of one element; old traces have whole microseconds.
    """
    steps = [
        event
        for event in found
        if event["name"].startswith("ProfilerStep#") and event["cat"] in ("user_annotation", "operator")
    ]
    start = round(min(event["ts"] for event in steps) * 1000)
    length = round(max(event["ts"] + event["dur"] for event in steps) * 1000) - start
    lines = {
        "compute": painted(
            found, lambda e: e["cat"] == "kernel" and not e["name"].startswith("nccl"), start, length, unit
        ),
        "comm": painted(found, lambda e: e["cat"] == "kernel" and e["name"].startswith("nccl"), start, length, unit),
        "copy": painted(found, lambda e: e["cat"] in ("memcpy", "memset"), start, length, unit),
        "loader": painted(found, lambda e: "DataLoader" in e["name"] and "__next__" in e["name"], start, length, unit),
    }
    free = painted(steps, lambda e: True, start, length, unit)
    for kind in ("compute", "comm", "copy"):
        lines[kind] &= free
        free &= ~lines[kind]
    return lines | {"idle": free}


def test_it_equals_a_painter_of_the_trace(shared: Path, tmp_path: Path) -> None:
    for path in sorted((shared / "profiles" / "gpu-dlrm-8rank").glob("*.json")):
        store = store_of(path, tmp_path / f"{path.stem}.duckdb", keep_events=False)
        found: Counter[str] = Counter()
        for kind, ns in rows(store, "SELECT kind, CAST(sum(ns) AS BIGINT) FROM r_account GROUP BY kind"):
            found[kind if kind in ("compute", "comm", "copy") else "idle"] += ns
        lines = by_kind(events(path))
        assert found == {kind: int(lines[kind].sum()) for kind in ("compute", "comm", "copy", "idle")}


def test_waiting_equals_a_painter_of_all_ranks(shared: Path, tmp_path: Path) -> None:
    """Until the last of eight ranks has started a collective the others wait for it; after that it is transfer."""
    folder = shared / "profiles" / "gpu-dlrm-8rank"
    store = store_of(folder, tmp_path / "store.duckdb", keep_events=False)
    paths = {int(path.name.removeprefix("worker").partition("_")[0]): path for path in folder.glob("worker*.json")}
    calls = {
        rank: sorted(
            (round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000), e["name"])
            for e in events(path) if e["cat"] == "kernel" and e["name"].startswith("nccl")
        )
        for rank, path in paths.items()
    }  # fmt: skip
    aligned = list(zip(*(calls[rank] for rank in sorted(calls)), strict=True))
    assert all(len({name for _, _, name in members}) == 1 for members in aligned)
    for rank, path in paths.items():
        found = events(path)
        steps = [e for e in found if e["name"].startswith("ProfilerStep#")]
        start = round(min(e["ts"] for e in steps) * 1000)
        communicates, expected = by_kind(found)["comm"], Counter[str]()
        for members in aligned:
            last, latest = max((begin, -other) for other, (begin, _, _) in enumerate(members))
            begin, end, _ = members[rank]
            own = communicates[max(begin - start, 0) : max(end - start, 0)]
            waited = max(last - max(begin, start), 0)
            expected[f"wait rank {-latest}"] += int(own[:waited].sum())
            expected["transfer"] += int(own[waited:].sum())
            communicates[max(begin - start, 0) : max(end - start, 0)] = False
        kinds = rows(
            store,
            "SELECT kind, subject, CAST(sum(ns) AS BIGINT) FROM r_account JOIN capture USING (capture)"
            f" WHERE rank = {rank} AND kind IN ('wait', 'transfer', 'comm') GROUP BY ALL",
        )
        account = Counter[str]()
        for kind, subject, ns in kinds:
            account[f"wait {subject}" if kind == "wait" else kind] += ns
        assert account == +expected


def test_the_path_equals_walking_back_over_all_ranks(shared: Path, tmp_path: Path) -> None:
    """From the last end of the step back to the last rank to start a collective, and so on, kind by kind."""
    folder = shared / "profiles" / "gpu-dlrm-8rank"
    store = store_of(folder, tmp_path / "store.duckdb", keep_events=False)
    lines, calls, steps = {}, {}, {}
    for path in folder.glob("worker*.json"):
        rank, found = int(path.name.removeprefix("worker").partition("_")[0]), events(path)
        lines[rank] = by_kind(found)
        (step,) = (e for e in found if e["name"].startswith("ProfilerStep#"))
        steps[rank] = (round(step["ts"] * 1000), round((step["ts"] + step["dur"]) * 1000))
        calls[rank] = sorted(
            (round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000))
            for e in found if e["cat"] == "kernel" and e["name"].startswith("nccl")
        )  # fmt: skip
    starts = [[calls[rank][call][0] for rank in range(8)] for call in range(len(calls[0]))]
    now, rank = max((end, -rank) for rank, (_, end) in steps.items())
    rank, expected = -rank, Counter[tuple[int, str]]()
    while True:
        begin = steps[rank][0]
        waits = [
            (max(starts[call]), call) for call in range(len(starts))
            if starts[call][rank] < max(starts[call]) < now and lines[rank]["comm"][max(starts[call]) - begin - 1]
        ]  # fmt: skip
        until = max(waits)[0] if waits else begin
        for kind, line in lines[rank].items():
            expected[rank, kind] += int(line[until - begin : now - begin].sum()) if kind != "loader" else 0
        now = until
        if not waits:
            break
        rank = starts[max(waits)[1]].index(now)
    expected[rank, "late start"] = now - min(begin for begin, _ in steps.values())
    assert sum(expected.values()) == max(end for _, end in steps.values()) - min(begin for begin, _ in steps.values())
    account = Counter[tuple[int, str]]()
    query = "SELECT rank, kind, CAST(sum(ns) AS BIGINT) FROM r_path JOIN capture USING (capture) GROUP BY ALL"
    for number, kind, ns in rows(store, query):
        kinds = {"transfer": "comm", "compute": "compute", "copy": "copy", "late start": "late start"}
        account[number, kinds.get(kind, "idle")] += ns
    assert account == +expected


def longer_than(line: np.ndarray, least: int) -> np.ndarray:
    """The stretches of a line that are longer than ``least``."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], line.astype(np.int8), [0]))))
    kept = np.zeros_like(line)
    for first, last in edges.reshape(-1, 2):
        kept[first:last] = last - first > least
    return kept


@pytest.mark.parametrize(
    ("baseline", "new"),
    [
        ("gpu-resnet50-dataloader-ab/resnet50_num_workers_4", "gpu-resnet50-dataloader-ab/resnet50_num_workers_0"),
        ("ascend-910b-2025-level01/db/level0", "ascend-910b-2025-level01/text/level1"),
        ("cpu-torch213-2rank/base", "cpu-torch213-2rank/changed"),
        ("gpu-dlrm-8rank", "ascend-qwen3-pp2-2025q4"),
        ("ascend-2023-advisor-fragments/kernel_details_pipe_2025.csv", "cpu-torch213-2rank/base"),
    ],
)
def test_the_changes_of_its_rows_sum_to_the_change_of_the_step(
    shared: Path, tmp_path: Path, baseline: str, new: str
) -> None:
    stores = []
    for side, profile in (("baseline", baseline), ("new", new)):
        run = find_runs(shared / "profiles" / profile)[0]
        build_store(run, tmp_path / f"{side}.duckdb", keep_events=False)
        stores.append(tmp_path / f"{side}.duckdb")
    assert_sums(compared(*stores))


@pytest.mark.thorough
def test_the_rows_of_all_pairs_of_runs_sum(shared: Path, tmp_path: Path) -> None:
    stores: list[Path] = []
    for profile in PROFILES:
        for run in find_runs(shared / "profiles" / profile):
            stores.append(tmp_path / f"{len(stores)}.duckdb")
            build_store(run, stores[-1], keep_events=False)
    for baseline, new in permutations(stores, 2):
        assert_sums(compared(baseline, new))


def assert_sums(diff: Diff) -> None:
    """The rows of the account sum to the step, or to the span without marks; those of the path to the job's step."""
    known = {delta.metric: delta for delta in diff.overall if delta.delta is not None}
    sums = {"account": known.get("time.step", known.get("time.device_span")), "path": known.get("time.path")}
    for section, whole in sums.items():
        rows = diff.sections[section].rows
        assert (whole is None) == (not rows), section
        for column in ("baseline", "new", "delta") if whole else ():
            total = fsum(float(row[column] or 0) for row in rows)
            assert total == pytest.approx(getattr(whole, column), abs=1e-6), (section, column)
    if diff.causes:
        assert diff.unexplained is not None
        assert fsum([*(cause.share for cause in diff.causes), diff.unexplained.share]) == pytest.approx(1, abs=1e-9)


def test_the_cause_names_the_data_loader_and_its_milliseconds(shared: Path, tmp_path: Path) -> None:
    stores = [
        store_of(
            min((shared / "profiles" / "gpu-resnet50-dataloader-ab" / side).iterdir()), tmp_path / f"{side}.duckdb"
        )
        for side in ("resnet50_num_workers_4", "resnet50_num_workers_0")
    ]
    first = compared(*stores).causes[0]
    assert (first.what, first.section, first.row) == ("data", "account", SUBJECTS[0])
    assert "DataLoader" in first.text
    assert first.delta_ms == pytest.approx(58.733, abs=0.001)


@pytest.mark.parametrize("workers", [0, 4])
def test_the_device_waits_for_the_data_loader(shared: Path, tmp_path: Path, workers: int) -> None:
    folder = shared / "profiles" / "gpu-resnet50-dataloader-ab" / f"resnet50_num_workers_{workers}"
    path = min(folder.iterdir())
    store = store_of(path, tmp_path / "store.duckdb", keep_events=False)
    (found,) = rows(store, "SELECT any_value(subject), CAST(sum(ns) AS BIGINT) FROM r_account WHERE kind = 'data'")
    lines = by_kind(events(path), unit=1000)
    # Between kernels that were launched before, the device pauses for about a microsecond, whatever the host does.
    waits = longer_than(lines["idle"], 100) & lines["loader"]
    assert found == (SUBJECTS[workers], 1000 * int(waits.sum()))
