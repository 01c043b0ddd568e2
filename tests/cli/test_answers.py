"""The results of `rlcompare diff` against numbers from other tools, and on runs with known differences."""

from __future__ import annotations

import csv
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rlcompare.writer import Change, SampleRun, write_sample
from tests.cli.conftest import Command, ranks_of

pytestmark = pytest.mark.slow

TIMES = ("compute", "exposed_comm", "overlapped_comm", "comm", "free", "stage")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def document(rlcompare: Command, cache: Path, new: Path, baseline: Path, *options: object) -> dict[str, Any]:
    """What ``diff --json`` prints; nothing else may be there."""
    outcome = rlcompare("diff", "-d", new, "-bp", baseline, "--json", "--cache-dir", cache, *options)
    assert outcome.code == 0, outcome.err
    return dict(json.loads(outcome.out))


def overall(answer: dict[str, Any], side: str) -> dict[str, Any]:
    return {delta["metric"]: delta[side] for delta in answer["overall"]}


def reported_in_analysis_db(folder: Path) -> list[float | None]:
    """Milliseconds of TIMES in a profile's analysis.db, which has microseconds."""
    path = folder / "ASCEND_PROFILER_OUTPUT" / "analysis.db"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as con:
        (row,) = con.execute(
            "SELECT computing, communication_not_overlapped, overlapped, communication, free, stage FROM StepTraceTime"
        ).fetchall()
    return [value / 1000 for value in row]


def reported_in_csv(folder: Path) -> list[float]:
    with (folder / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv").open(newline="") as handle:
        (row,) = csv.DictReader(handle)
    names = ("Computing", "Communication(Not Overlapped)", "Overlapped", "Communication", "Free", "Stage")
    return [float(row[name]) / 1000 for name in names]


@pytest.mark.parametrize("kind", ["db/level0", "db/level1", "text/level0", "text/level1"])
def test_the_msprof_section_equals_msprof_analyze(
    kind: str, rlcompare: Command, cache: Path, ascend_910b: Path, shared: Path
) -> None:
    # GIVEN what msprof-analyze says about this pair
    oracle = json.loads((shared / "oracle" / "msprof_compare.json").read_text())
    expected = oracle[f"{kind}: baseline rank0, new rank1"]
    # WHEN we compare it
    folder = ascend_910b / kind
    answer = document(rlcompare, cache, folder / "rank1_ascend_pt", folder / "rank0_ascend_pt")
    rows = {(row["sheet"], row["name"], row["input_shapes"]): row for row in answer["sections"]["msprof"]}
    # THEN every row of its overview is there but Wait and Transmit, in its order, with time, count and depth
    overview = [row for row in expected["OverallMetrics"]["rows"] if row[0].strip() not in ("Wait", "Transmit")]
    assert [name for sheet, name, _ in rows if sheet == "OverallMetrics"] == [row[0].strip() for row in overview]
    for label, base_ms, _, base_count, new_ms, _, new_count, *_ in overview:
        row = rows["OverallMetrics", label.strip(), None]
        assert row["baseline"] == pytest.approx(base_ms, abs=0.001), label
        assert row["new"] == pytest.approx(new_ms, abs=0.001), label
        assert row["depth"] == len(label) - len(label.lstrip("\t"))
        if base_count != "/":
            assert (row["baseline_calls"], row["new_calls"]) == (base_count, new_count), label
    # AND of its kernels and its calls
    if kind.startswith("db"):
        kernels = expected["KernelCompare"]["rows"]
        assert len([key for key in rows if key[0] == "KernelCompare"]) == len(kernels)
        for kernel in kernels:
            row = rows["KernelCompare", kernel[1], kernel[2].strip('"')]
            assert (row["baseline_calls"], row["new_calls"]) == (kernel[7], kernel[12])
            assert (row["baseline"] * 1000, row["new"] * 1000) == pytest.approx((kernel[3], kernel[8]), abs=0.0051)
    else:
        calls = expected["ApiCompare"]["rows"]
        assert len([key for key in rows if key[0] == "ApiCompare"]) == len(calls)
        for _, name, _, _, _, base_calls, _, _, _, new_calls, *_ in calls:
            row = rows["ApiCompare", name, None]
            assert (row["baseline_calls"], row["new_calls"]) == (base_calls, new_calls), name


@pytest.mark.parametrize("level", ["level0", "level1"])
def test_database_times_equal_the_profilers_own(level: str, rlcompare: Command, cache: Path, ascend_910b: Path) -> None:
    folders = [ascend_910b / "db" / level / f"rank{rank}_ascend_pt" for rank in (0, 1)]
    answer = document(rlcompare, cache, folders[1], folders[0])
    for side, folder in zip(("baseline", "new"), folders, strict=True):
        ours = overall(answer, side)
        assert [ours[f"time.{name}"] for name in TIMES] == pytest.approx(reported_in_analysis_db(folder), abs=1e-7)


@pytest.mark.parametrize("level", ["level0", "level1"])
def test_text_times_equal_the_profilers_own(level: str, rlcompare: Command, cache: Path, ascend_910b: Path) -> None:
    folders = [ascend_910b / "text" / level / f"rank{rank}_ascend_pt" for rank in (0, 1)]
    answer = document(rlcompare, cache, folders[1], folders[0])
    for side, folder in zip(("baseline", "new"), folders, strict=True):
        ours = overall(answer, side)
        assert [ours[f"time.{name}"] for name in TIMES] == pytest.approx(reported_in_csv(folder), abs=0.0005)


def test_kernel_details_alone_give_the_times(rlcompare: Command, cache: Path, shared: Path) -> None:
    root = shared / "profiles" / "ascend-qwen3-pp2-2025q4"
    folders = [root / f"rank_{rank}_ascend_pt" for rank in (0, 2)]
    answer = document(rlcompare, cache, folders[1], folders[0])
    for side, folder in zip(("baseline", "new"), folders, strict=True):
        ours = overall(answer, side)
        assert [ours[f"time.{name}"] for name in TIMES] == pytest.approx(reported_in_csv(folder), abs=0.0005)


def test_communication_alone_leaves_the_rest_absent(rlcompare: Command, cache: Path, shared: Path) -> None:
    root = shared / "profiles" / "ascend-qwen3-pp2-2025q4"
    folders = [root / f"rank_{rank}_ascend_pt" for rank in (1, 3)]
    answer = document(rlcompare, cache, folders[1], folders[0])
    for side, folder in zip(("baseline", "new"), folders, strict=True):
        ours = overall(answer, side)
        assert ours["time.comm"] == pytest.approx(reported_in_csv(folder)[3], abs=0.0005)
        assert [ours.get(f"time.{name}") for name in TIMES if name != "comm"] == [None] * 5


def test_repeated_steps_of_a_real_rank_are_no_regression(
    rlcompare: Command, tmp_path: Path, cache: Path, ascend_910b: Path
) -> None:
    # GIVEN the same real step once, and four times, a second apart
    source = ascend_910b / "db/level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db"
    four = tmp_path / source.name
    scale = ascend_910b.parents[1] / "tools" / "scale_ascend_db.py"
    subprocess.run([sys.executable, scale, source, four, "4"], check=True)
    # WHEN
    answer = document(rlcompare, cache, four, source)
    # THEN nothing changed, per step
    for delta in answer["overall"]:
        if not delta["metric"].startswith("memory."):
            assert delta["delta"] in (None, pytest.approx(0.0, abs=1e-9)), delta["metric"]
    for section in ("kernels", "operators", "collectives", "apis"):
        for row in answer["sections"][section]:
            assert row["delta"] == pytest.approx(0.0, abs=1e-9), (section, row["name"])
            assert row["baseline_calls"] == row["new_calls"]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("schema", ["1.0", "1.2"])
@pytest.mark.parametrize("level", ["level0", "level1", "level2"])
def test_database_and_text_of_one_run_say_the_same(
    level: str, schema: str, rlcompare: Command, tmp_path: Path, cache: Path
) -> None:
    # GIVEN one run, written as database and as text
    run = SampleRun(steps=(5, 6), level=level, schema=schema, layers=2, decode_steps=2, export="both")
    write_sample(run, tmp_path / "s")
    # WHEN each is compared with itself
    db = document(rlcompare, cache, tmp_path / "s", tmp_path / "s")
    text = document(rlcompare, cache, tmp_path / "s", tmp_path / "s", "--prefer", "text")
    # THEN times and counts are the same to the nanosecond
    from_db, from_text = overall(db, "new"), overall(text, "new")
    assert {name for name in from_db if name.startswith(("time.", "phase."))} == {
        name for name in from_text if name.startswith(("time.", "phase."))
    }
    for name, value in from_db.items():
        if name.startswith(("time.", "phase.")):
            assert from_text[name] == pytest.approx(value, abs=1e-9), name
        elif name.startswith("memory."):
            assert from_text[name] == pytest.approx(value, rel=1e-6), name
        else:
            assert from_text[name] == value, name
    # Level0 text has neither types nor PMU values, so that its kernels are of no known category.
    categories = () if level == "level0" else ("categories",)
    for section in ("kernels", "kernel_types", "operators", "modules", "collectives", *categories):
        assert measures(text, section) == measures(db, section), section
    # The direction of a copy stands in databases of schema 1.2 alone.
    copies = [sum(time or 0 for time, _ in measures(answer, "copies").values()) for answer in (db, text)]
    assert copies[0] == pytest.approx(copies[1]) and copies[0] > 0
    assert from_db["time.compute"] > 0


def measures(answer: dict[str, Any], section: str) -> dict[tuple[object, ...], tuple[float | None, object]]:
    """(measure in ns, calls) by key."""
    keys = answer["section_info"][section]["keys"]
    return {
        (row["name"], *(row.get(key) for key in keys)): (
            None if row["new"] is None else round(row["new"] * 1e6, 3),
            row.get("new_calls"),
        )
        for row in answer["sections"][section]
    }


def test_a_profile_against_itself_changes_nothing(rlcompare: Command, cache: Path, ascend_910b: Path) -> None:
    folder = ascend_910b / "db" / "level1" / "rank0_ascend_pt"
    answer = document(rlcompare, cache, folder, folder)
    assert {delta["delta"] for delta in answer["overall"]} <= {0, None}
    for rows in answer["sections"].values():
        assert {row.get("delta") for row in rows} <= {0, None}
        assert {row["presence"] for row in rows} <= {"both"}
    assert answer["causes"] == []
    assert answer["comparability"]["status"] == "comparable"
    gate = rlcompare("gate", "-d", folder, "-bp", folder, "--cache-dir", cache)
    assert gate.code == 0
    assert "regressed" not in gate.out


def test_four_steps_against_one_of_the_same_work(rlcompare: Command, tmp_path: Path, cache: Path) -> None:
    write_sample(SampleRun(steps=(1, 2, 3, 4), layers=2, decode_steps=2), tmp_path / "four")
    write_sample(SampleRun(steps=(1,), layers=2, decode_steps=2), tmp_path / "one")
    answer = document(rlcompare, cache, tmp_path / "four", tmp_path / "one")
    for delta in answer["overall"]:
        if delta["metric"].startswith(("time.compute", "time.comm", "workload.")):
            assert delta["ratio"] in (None, pytest.approx(1.0, rel=0.01)), delta["metric"]
    for row in answer["sections"]["kernels"]:
        assert row["baseline_calls"] == row["new_calls"]
    gate = rlcompare("gate", "-d", tmp_path / "four", "-bp", tmp_path / "one", "--cache-dir", cache)
    assert gate.code == 0, gate.out


def test_verls_default_end_to_end(rlcompare: Command, tmp_path: Path, cache: Path) -> None:
    # GIVEN what verl leaves by default: Level0, database, no step marks, phases as mstx ranges
    for name, changes in (("base", ()), ("new", (Change.slower("MatMulV2", 1.5),))):
        run = SampleRun(level="level0", layers=2, decode_steps=2, changes=changes)
        write_sample(run, tmp_path / name)
    # WHEN
    answer = document(rlcompare, cache, tmp_path / "new", tmp_path / "base")
    # THEN the capture is one step without a host time, and its phases are verl's
    ours = overall(answer, "new")
    assert ours.get("time.step") is None
    assert answer["headline"] == "time.path"
    assert {row["name"] for row in answer["sections"]["phases"]} >= {
        "generate_sequences",
        "old_log_prob",
        "ref_log_prob",
        "update_actor",
    }
    # AND the device's parts of all phases sum to the span
    parts = sum(row["new_compute"] + row["new_exposed_comm"] + row["new_free"] for row in answer["sections"]["phases"])
    assert parts == pytest.approx(ours["time.device_span"], abs=1e-6)
    # AND the slower kernel is named, though Level0 has only names
    assert any("MatMulV2" in cause["text"] for cause in answer["causes"])


def test_verls_default_discrete(rlcompare: Command, tmp_path: Path, cache: Path) -> None:
    # GIVEN one folder per rank and role call
    run = SampleRun(ranks=(0, 1), level="level0", mode="discrete", layers=2, decode_steps=2)
    write_sample(run, tmp_path / "s")
    answer = document(rlcompare, cache, tmp_path / "s", tmp_path / "s")
    # THEN they are captures of one run
    captures = answer["new"]["captures"]
    assert len(answer["new"]["runs"]) == 1
    assert {(c["role"], c["phase"], c["rank"]) for c in captures} == {
        (role, phase, rank)
        for rank in (0, 1)
        for role, phase in (
            ("rollout", "generate_sequences"),
            ("actor", "old_log_prob"),
            ("ref", "ref_log_prob"),
            ("actor", "update_actor"),
        )
    }
    # AND time between them is unprofiled, never free: it is what the host's windows leave of the whole
    ours = overall(answer, "new")
    unprofiled, inside = [], []
    for rank in (0, 1):
        windows = [session_of(path) for path in (tmp_path / "s").rglob("*_ascend_pt") if rank_of(path) == rank]
        inside.append(sum(end - start for start, end in windows))
        unprofiled.append(max(end for _, end in windows) - min(start for start, _ in windows) - inside[-1])
    assert ours["time.unprofiled"] == pytest.approx(sum(unprofiled) / 2 / 1e6, abs=1e-6)
    assert ours["time.free"] < sum(inside) / 2 / 1e6


def session_of(folder: Path) -> tuple[int, int]:
    (path,) = (folder / "ASCEND_PROFILER_OUTPUT").glob("ascend_pytorch_profiler_*.db")
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as con:
        ((start, end),) = con.execute("SELECT startTimeNs, endTimeNs FROM SESSION_TIME_INFO").fetchall()
    return start, end


def rank_of(folder: Path) -> int:
    (info,) = folder.glob("profiler_info_*.json")
    return int(info.stem.rsplit("_", 1)[1])


def test_ranges_alone_are_a_valid_profile(rlcompare: Command, tmp_path: Path, cache: Path) -> None:
    write_sample(SampleRun(level="level_none", layers=2, decode_steps=2), tmp_path / "s")
    answer = document(rlcompare, cache, tmp_path / "s", tmp_path / "s")
    ours = overall(answer, "new")
    assert ours.get("time.compute") is None
    assert ours["phase.update_actor.wall"] > 0
    assert answer["headline"] == "time.phases"
    gate = rlcompare("gate", "-d", tmp_path / "s", "-bp", tmp_path / "s", "--cache-dir", cache)
    assert gate.code == 0, gate.out
    query = 'SELECT count(*) AS n FROM "range"'
    outcome = rlcompare("sql", ranks_of(tmp_path / "s")[0], query, "--format", "json", "--cache-dir", cache)
    assert json.loads(outcome.out)[0]["n"] > 0


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("change", "word", "what"),
    [
        (Change.slower("MatMulV2", 1.5), "MatMulV2", "operator_slower"),
        (Change.extra("Sort"), "Sort", "operator_calls"),
        (Change.late(1, 20_000_000), "rank 1", "python"),
        (Change.frequency(0.7), "clock fell", "frequency"),
        (Change.lost_overlap(), "overlaps less with kernels", "lost_overlap"),
        (Change.tokens(2.0), "", "workload"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_injected_change_is_the_first_cause(
    change: Change, word: str, what: str, rlcompare: Command, tmp_path: Path, cache: Path
) -> None:
    for name, changes in (("base", ()), ("new", (change,))):
        write_sample(SampleRun(ranks=(0, 1), steps=(1,), changes=changes), tmp_path / name)
    answer = document(rlcompare, cache, tmp_path / "new", tmp_path / "base")
    first = answer["causes"][0]
    assert first["what"] == what, [(c["what"], c["text"]) for c in answer["causes"]]
    assert word in first["text"]


def test_what_one_side_did_not_record_is_unknown_and_does_not_pass(
    rlcompare: Command, tmp_path: Path, cache: Path
) -> None:
    # GIVEN one run as text, and the same without its trace, which holds steps, phases, operators and copies
    run = SampleRun(ranks=(0,), steps=(1,), layers=2, decode_steps=2, export="text")
    for name in ("full", "poor"):
        (folder,) = write_sample(run, tmp_path / name)
    (folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").unlink()
    # WHEN
    answer = document(rlcompare, cache, tmp_path / "poor", tmp_path / "full")
    # THEN nothing of it is 0 on the new side, and that is said
    new = overall(answer, "new")
    assert (new["time.exposed_copy"], new["time.idle"], new["time.step"]) == (None, None, None)
    assert new["time.device_span"] == overall(answer, "baseline")["time.device_span"]
    assert {row["new"] for row in answer["sections"]["phases"]} == {None}
    assert {finding["key"] for finding in answer["comparability"]["findings"]} >= {"phases"}
    assert any("trace_view.json" in finding["message"] for finding in answer["quality"])
    # AND a gate does not let it pass by a lesser measure
    gate = rlcompare("gate", "-d", tmp_path / "poor", "-bp", tmp_path / "full", "--cache-dir", cache)
    assert gate.code == 1
    assert "missing" in gate.out
