"""Ranges of the user's own are phases where no phase of an RL step is known."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from rlcompare.model.diff import Diff
from rlcompare.sources.detect import find_runs
from rlcompare.store.build import build_store
from tests.stores import rows, store_of

from .rollup_stores import MS, RollupStore, compared, found
from .timelines import normalise, reset

Span = tuple[str, int, int, int]
"""Name, thread, start and end."""

RANGE = "INSERT INTO \"range\" VALUES (0, ?, ?, 'range', 'host', ?, NULL, ?, ?)"
MARKS = 'INSERT INTO stage_phase SELECT 0, name, thread, start_ns, end_ns FROM "range"'


def phases_of(
    con: duckdb.DuckDBPyConnection, spans: list[Span], *, steps: int = 2, tool: str = "torch", marked: bool = True
) -> list[tuple[str, int, int]]:
    """Name, start and end of the phases of a capture with steps of 100 ns; thread 1 runs them."""
    reset(con)
    con.execute("UPDATE capture SET tool = ?", [tool])
    for step in range(steps if marked else 0):
        con.execute("INSERT INTO step VALUES (0, ?, ?, ?, FALSE)", [step, step * 100, step * 100 + 99])
    for step in range(steps):
        for key, (name, thread, at) in enumerate((("aten::mm", 1, 1), ("aten::add", 2, 50), ("MmBackward0", 2, 51))):
            con.execute(
                "INSERT INTO stage_host_op BY NAME SELECT ? AS id, ? AS name, ? AS thread,"
                " CAST(? AS BIGINT) AS start_ns, CAST(? AS BIGINT) AS end_ns, 7 AS sequence_number",
                [step * 10 + key, name, thread, step * 100 + at, step * 100 + at + 1],
            )
    for key, (name, thread, start, end) in enumerate(spans):
        if tool == "npu":
            con.execute(
                "INSERT INTO stage_host_op BY NAME SELECT ? AS id, ? AS name, ? AS thread, ? AS start_ns, ? AS end_ns",
                [1000 + key, name, thread, start, end],
            )
        else:
            con.execute(RANGE, [None, name, thread, start, end])
    con.execute(MARKS)
    normalise(con)
    assert con.execute("SELECT bool_and(by_user) AND count(role) = 0 FROM phase").fetchone() in ((True,), (None,))
    return con.execute("SELECT name, start_ns, end_ns FROM phase ORDER BY id").fetchall()


def in_steps(*spans: Span, steps: int = 2) -> list[Span]:
    """The same spans in each step."""
    return [(name, at, start + 100 * i, end + 100 * i) for i in range(steps) for name, at, start, end in spans]


def names(found: list[tuple[str, int, int]]) -> list[str]:
    return list(dict.fromkeys(name for name, _, _ in found))


LOOP = (("dataload", 1, 0, 10), ("forward", 1, 10, 40), ("layer", 1, 12, 20), ("backward", 1, 40, 90))


def test_the_outermost_ranges_of_a_training_loop(con: duckdb.DuckDBPyConnection) -> None:
    found = phases_of(con, in_steps(*LOOP))
    assert found[:3] == [("dataload", 0, 10), ("forward", 10, 40), ("backward", 40, 90)]
    assert [start for _, start, _ in found[3:]] == [100, 110, 140]


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        pytest.param(("train_step", 1, 0, 95), ["dataload", "forward", "backward"], id="one that covers the step"),
        pytest.param(("ahead", 2, 92, 98), ["dataload", "forward", "backward"], id="another thread"),
        pytest.param(("Optimizer.step#AdamW.step", 1, 90, 95), ["dataload", "forward", "backward"], id="torch's"),
        pytest.param(("nccl:all_reduce", 1, 90, 95), ["dataload", "forward", "backward"], id="a collective"),
        pytest.param(("(outside)", 1, 90, 95), ["dataload", "forward", "backward"], id="a name that is taken"),
        pytest.param(("## optimizer ##", 1, 90, 95), ["dataload", "forward", "backward", "optimizer"], id="a frame"),
    ],
)
def test_what_is_a_phase_beside_them(con: duckdb.DuckDBPyConnection, extra: Span, expected: list[str]) -> None:
    assert names(phases_of(con, in_steps(*LOOP, extra))) == expected


@pytest.mark.slow
def test_a_range_of_one_step_among_several_is_no_phase(con: duckdb.DuckDBPyConnection) -> None:
    loop = in_steps(("forward", 1, 10, 40), steps=4)
    assert names(phases_of(con, [*loop, ("save", 1, 90, 95)], steps=4)) == ["forward"]
    twice = [("save", 1, 90, 95), ("save", 1, 190, 195)]
    assert names(phases_of(con, [*loop, *twice], steps=4)) == ["forward"]
    assert names(phases_of(con, [*loop, ("save", 1, 90, 95)], steps=1)) == ["forward", "save"]


def test_running_numbers_are_one_name(con: duckdb.DuckDBPyConnection) -> None:
    spans = [(f"micro batch {i}", 1, 10 * i, 10 * i + 9) for i in range(1, 19)]
    assert names(phases_of(con, spans)) == ["micro batch N"]


def test_a_range_that_covers_all_steps_tells_nothing(con: duckdb.DuckDBPyConnection) -> None:
    assert phases_of(con, in_steps(("train_step", 1, 0, 97))) == []
    assert names(phases_of(con, in_steps(("train_step", 1, 0, 97), ("loss", 1, 5, 20)))) == ["loss"]
    # Where the only range leaves part of the step out, it is one, whatever lies inside.
    assert names(phases_of(con, in_steps(("forward", 1, 0, 50), ("layer", 1, 5, 20)))) == ["forward"]


def test_phases_of_an_rl_step_come_first(con: duckdb.DuckDBPyConnection) -> None:
    reset(con)
    con.execute("INSERT INTO step VALUES (0, 1, 0, 100, FALSE)")
    for name, start in (("gen", 0), ("log", 50)):
        con.execute(RANGE, [None, name, 1, start, start + 20])
    con.execute(MARKS)
    normalise(con)
    assert con.execute("SELECT name, by_user FROM phase").fetchall() == [("generate_sequences", False)]


def test_ranges_in_the_domain_of_a_library_are_not_the_users(con: duckdb.DuckDBPyConnection) -> None:
    reset(con)
    con.execute("INSERT INTO step VALUES (0, 1, 0, 100, FALSE)")
    for domain, name, start in ((None, "forward", 0), ("default", "backward", 30), ("communication", "reduce", 60)):
        con.execute(RANGE, [domain, name, 1, start, start + 20])
    normalise(con)
    assert con.execute("SELECT name FROM phase ORDER BY id").fetchall() == [("forward",), ("backward",)]


def test_without_marks_of_steps_the_capture_is_one_step(con: duckdb.DuckDBPyConnection) -> None:
    spans = in_steps(("train", 1, 0, 99), ("forward", 1, 5, 40), ("update", 1, 45, 90))
    assert names(phases_of(con, spans, marked=False)) == ["forward", "update"]


def test_torch_npu_records_ranges_as_operators(con: duckdb.DuckDBPyConnection) -> None:
    """A range contains operators of torch; aclnn calls, events and the like do not."""
    spans = in_steps(("forward", 1, 0, 40), ("empty_tensor", 1, 60, 70), ("aclnnMm", 1, 0, 5))
    assert names(phases_of(con, spans, tool="npu")) == ["forward"]


def diff_with(
    tmp_path: Path, baseline: dict[str, int], new: dict[str, int], *, by_user: bool, timers: bool = False
) -> Diff:
    sides = []
    for label, phases in (("old", baseline), ("new", new)):
        tmp_path.mkdir(exist_ok=True)
        made = RollupStore(tmp_path / f"{label}.duckdb").capture().step(1)
        for name, ms in phases.items():
            made.phase(1, name, ms * MS, by_user=by_user and name != "(outside)", wall_ns=ms * MS)
            made.kernel(1, "MatMul", 1, ms * MS, phase=None if name == "(outside)" else name)
        for timer, seconds in (("step", 0.05), ("gen", 0.02), ("update_actor", 0.03)) if timers else ():
            for step in (1, 2):
                made.add(
                    "metric", step=step, name=f"timing_s/{timer}", value=seconds, source="file", profiled=step == 1
                )
        sides.append(made.time(1, sum(phases.values()) * MS).done())
    return compared(*sides)


@pytest.mark.slow
def test_a_range_on_one_side_only_is_outside_of_the_phases(tmp_path: Path) -> None:
    """The mark may be new, and its work old."""
    before, after = {"forward": 10, "(outside)": 8}, {"forward": 12, "log": 3, "(outside)": 5}
    diff = diff_with(tmp_path, before, after, by_user=True)
    assert {row["name"]: (row["baseline"], row["new"]) for row in diff.sections["phases"].rows} == {
        "forward": (10.0, 12.0), "(outside)": (8.0, 8.0),
    }  # fmt: skip
    assert found(diff, "account", "MatMul", phase=None)["delta"] == 0
    assert [delta.metric for delta in diff.overall if "log" in delta.metric] == []
    (said,) = [finding for finding in diff.quality if finding.key == "lone_phase"]
    assert said.message == "New side: only this side has the range log, so it is not a phase."
    # THEN a phase of an RL step is one, on whichever side
    marked = diff_with(tmp_path / "rl", before, after, by_user=False).sections["phases"].rows
    assert {row["name"] for row in marked} == {"forward", "log", "(outside)"}


def test_without_a_common_range_there_are_no_phases(tmp_path: Path) -> None:
    diff = diff_with(tmp_path, {"(outside)": 18}, {"forward": 12, "(outside)": 6}, by_user=True)
    assert diff.sections["phases"].rows == ()
    assert [finding for finding in diff.comparability.findings if finding.key == "phases"] == []
    (said,) = [finding for finding in diff.quality if finding.key == "lone_phase"]
    assert said.message == "New side: only this side has the range forward, so it is not a phase."


def test_where_training_timed_its_phases_ranges_are_none(tmp_path: Path) -> None:
    """Else the device would have done nothing in phases that the profile does not know by name."""
    diff = diff_with(
        tmp_path, {"forward": 10, "(outside)": 8}, {"forward": 12, "(outside)": 6}, by_user=True, timers=True
    )
    section = {row["name"]: row for row in diff.sections["phases"].rows}
    assert section.keys() >= {"generate_sequences", "update_actor"}
    assert section["update_actor"].get("new_outside_profile_ms") is None
    assert "forward" not in {row["phase"] for row in diff.sections["account"].rows}
    assert [delta.metric for delta in diff.overall if "forward" in delta.metric] == []


def test_where_another_rank_marks_an_rl_step_its_phases_keep_their_values(tmp_path: Path) -> None:
    """A rank without such marks does not count in their mean, whatever ranges it has."""
    made = RollupStore(tmp_path / "ranks.duckdb").capture().step(1).capture(1, rank=1).step(1, capture=1)
    made.phase(1, "update_actor", 8 * MS, wall_ns=8 * MS).phase(1, "(outside)", 2 * MS, wall_ns=2 * MS)
    for name, by_user in (("forward", True), ("(outside)", False)):
        made.phase(1, name, 5 * MS, capture=1, by_user=by_user, wall_ns=5 * MS)
    made.kernel(1, "MatMul", 1, 5 * MS, capture=1, phase="forward").time(1, 10 * MS).time(1, 10 * MS, capture=1)
    path = made.done()
    diff = compared(path, path)
    assert {row["name"]: row["new"] for row in diff.sections["phases"].rows} == {"update_actor": 8.0, "(outside)": 2.0}
    assert "forward" not in {row["phase"] for row in diff.sections["account"].rows}


@pytest.mark.slow
def test_the_phases_of_a_recommendation_model(shared: Path, tmp_path: Path) -> None:
    """The ranges of worker 3, read from the trace: those in the step, on its thread, in no other range."""
    (path,) = (shared / "profiles" / "gpu-dlrm-8rank").glob("worker3_*")
    content = path.read_bytes()
    events = json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)["traceEvents"]
    marks = [event for event in events if event.get("cat") == "user_annotation"]
    (step,) = (event for event in marks if event["name"].startswith("ProfilerStep#"))
    own = [event for event in marks if event["tid"] == step["tid"] and event["name"].startswith("##")]
    outermost = [
        event for event in own
        if not any(o is not event and o["ts"] <= event["ts"] < o["ts"] + o["dur"] for o in own)
    ]  # fmt: skip
    expected = Counter({event["name"].strip("# "): event["dur"] * 1000 for event in outermost})
    assert {"forward", "backward", "optimizer"} <= expected.keys()
    store = store_of(path, tmp_path / "a.duckdb", keep_events=False)
    walls = rows(store, "SELECT phase, wall_ns FROM r_phase WHERE by_user")
    assert Counter(dict(walls)) == expected


@pytest.mark.slow
def test_a_renamed_range_changes_no_part_of_the_step(shared: Path, tmp_path: Path) -> None:
    """The same ranks on both sides, but for the name of one range: its work did not go, and none came."""
    stores = []
    for side, name in (("old", b"## forward ##"), ("new", b"## fwd ##")):
        (tmp_path / side).mkdir()
        for path in sorted((shared / "profiles" / "gpu-dlrm-8rank").glob("worker[01]_*")):
            (tmp_path / side / path.name).write_bytes(path.read_bytes().replace(b"## forward ##", name))
        (run,) = find_runs(tmp_path / side)
        stores.append(tmp_path / f"{side}.duckdb")
        build_store(run, stores[-1], keep_events=False)
    diff = compared(*stores)
    named = {row["name"] for row in diff.sections["phases"].rows}
    assert "backward" in named and not named & {"forward", "fwd"}
    timed = [row for section in diff.sections.values() if section.unit == "ms" for row in section.rows]
    timed = [row for row in timed if row.get("kind") != "python"]  # named by the innermost range
    assert len(timed) > 100
    assert [row for row in timed if row["presence"] != "both" or row["delta"]] == []
