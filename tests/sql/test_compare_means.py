"""What a side's value is: steps, ranks, devices, captures, roles and runs (docs/design.md §4), worked out on paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlcompare.errors import InputError, UsageError
from rlcompare.gate import built_in_policy, judge
from rlcompare.report.document import to_document, to_json
from tests.sql.rollup_stores import MS, RollupStore, compared, found, side, values


def store(folder: Path, name: str) -> RollupStore:
    return RollupStore(folder / f"{name}.duckdb")


def one_rank(folder: Path, name: str, computes: list[int]) -> Path:
    """One rank; one step per entry, in which MatMul runs 4 times and takes the whole computation."""
    made = store(folder, name).capture()
    for number, compute in enumerate(computes):
        made.step(number).time(number, compute * MS, exposed=2 * MS, comm=3 * MS, free=MS)
        made.kernel(number, "MatMul", 4, compute * MS)
    return made.done()


def test_four_steps_against_one_of_the_same_work_are_equal(tmp_path: Path) -> None:
    diff = compared(one_rank(tmp_path, "four", [10] * 4), one_rank(tmp_path, "one", [10]))
    assert values(diff, "time.compute") == (10.0, 10.0)
    assert values(diff, "time.device_span") == (13.0, 13.0)
    row = found(diff, "kernels", "MatMul")
    assert (row["baseline"], row["new"], row["baseline_calls"], row["new_calls"]) == (10.0, 10.0, 4, 4)
    assert all(delta.delta == 0 for delta in diff.overall)
    assert [finding.key for finding in diff.comparability.findings] == ["steps"]
    assert diff.causes == ()


def test_ranks_weigh_equally_however_many_steps_they_have(tmp_path: Path) -> None:
    """Rank 0: steps of 10 and 20, mean 15. Rank 1: one step of 30. The side: 22.5, not the 20 of a mean over rows."""
    made = store(tmp_path, "uneven").capture(0, 0).capture(1, 1)
    for capture, step, compute in ((0, 1, 10), (0, 2, 20), (1, 1, 30)):
        made.step(step, capture).time(step, compute * MS, capture).kernel(step, "MatMul", 2, compute * MS, capture)
    path = made.done()
    diff = compared(path, path)
    assert values(diff, "time.compute") == (22.5, 22.5)
    assert found(diff, "kernels", "MatMul")["baseline"] == 22.5
    assert values(diff, "time.device_span@max") == (30.0, 30.0)
    assert values(diff, "time.device_span@spread") == (15.0, 15.0)


def test_an_operator_that_is_absent_in_a_step_counts_nothing_there(tmp_path: Path) -> None:
    """Sort runs in one of four steps and on one of two ranks, 8 ms: 8 / 4 / 2 = 1 ms per rank and step, 1/8 calls."""
    made = store(tmp_path, "seldom")
    for rank in (0, 1):
        made.capture(rank, rank)
        for step in range(4):
            made.step(step, rank).time(step, 10 * MS, rank).kernel(step, "MatMul", 1, 2 * MS, rank)
    path = made.kernel(2, "Sort", 1, 8 * MS, 0).done()
    row = found(compared(path, path), "kernels", "Sort")
    assert (row["baseline"], row["baseline_calls"]) == (1.0, 0.125)


def test_ranks_with_communication_alone_are_skipped_where_computation_is_averaged(tmp_path: Path) -> None:
    """Ranks 0 and 2 computed 10 and 20; ranks 1 and 3 hold no kernels. Communication is 4, 6, 8, 10 on the four."""
    made = store(tmp_path, "half")
    for rank, compute, comm in ((0, 10, 4), (1, None, 6), (2, 20, 8), (3, None, 10)):
        made.capture(rank, rank).step(1, rank)
        made.time(1, None if compute is None else compute * MS, rank, comm=comm * MS, exposed=comm * MS)
        if compute is not None:
            made.kernel(1, "MatMul", 1, compute * MS, rank)
    path = made.done()
    diff = compared(path, path)
    assert values(diff, "time.compute") == (15.0, 15.0)
    assert values(diff, "time.comm") == (7.0, 7.0)
    assert values(diff, "time.exposed_comm") == (6.0, 6.0)
    assert found(diff, "kernels", "MatMul")["baseline"] == 15.0
    skipped = [finding.message for finding in diff.quality if finding.key == "partly_measured"]
    assert any("Baseline" in text and "computation is unknown on 2 of 4 ranks" in text for text in skipped)
    assert diff.headline == "time.device_span"
    assert values(diff, "time.device_span") == (21.0, 21.0)
    assert sum(float(row["baseline"] or 0) for row in diff.sections["account"].rows) == 21.0


@pytest.mark.parametrize(("second", "has_path"), [(20, True), (None, False)])
def test_a_rank_whose_kernels_are_unknown_leaves_the_job_without_a_path(
    tmp_path: Path, second: int | None, has_path: bool
) -> None:
    """The account of such a rank lacks its kernels: where the path leads over it, they would seem to be gone."""
    paths = []
    for name, compute in (("known", 20), ("new", second)):
        made = store(tmp_path, name)
        for rank, computed in ((0, 10), (1, compute)):
            made.capture(rank, rank).step(1, rank)
            made.time(1, None if computed is None else computed * MS, rank, comm=4 * MS, exposed=4 * MS)
        made.add("r_path", capture=1, device_id=0, step=1, kind="comm", subject="all_reduce", ns=24 * MS, pieces=1)
        paths.append(made.done())
    diff = compared(*paths)
    assert (diff.headline == "time.path") == has_path
    assert bool(diff.sections["path"].rows) == has_path


def test_communication_alone_leaves_the_rest_unknown(tmp_path: Path) -> None:
    path = (
        store(tmp_path, "comm")
        .capture()
        .step(1)
        .time(1, None, comm=5 * MS)
        .collective(1, "all_reduce", 0, 0, 5 * MS)
        .done()
    )
    diff = compared(path, path)
    assert values(diff, "time.comm") == (5.0, 5.0)
    assert diff.metric("time.compute") is None
    assert diff.metric("time.device_span") is None
    assert diff.headline == "time.comm"
    assert found(diff, "collectives", "all_reduce")["baseline"] == 5.0


def test_without_device_data_the_phases_speak_for_the_step(tmp_path: Path) -> None:
    """Ranges alone (level_none), no step marks: 8 + 3 ms on rank 0 and 6 + 5 on rank 1, so 11; 3 ms more, so 12.5."""
    paths = []
    for name, more in (("old", 0), ("new", 3)):
        made = store(tmp_path, name)
        for rank, walls in enumerate(((8, 3), (6, 5 + more))):
            made.capture(rank, rank, level="Level_none").step(1, rank)
            for phase, wall in zip(("generate_sequences", "update_actor"), walls, strict=True):
                made.add("r_phase", capture=rank, step=1, phase=phase, by_user=False, wall_ns=wall * MS, calls=1)
        paths.append(made.done())
    diff = compared(*paths)
    assert diff.headline == "time.phases"
    assert values(diff, "time.phases") == (11.0, 12.5)
    assert [(cause.what, cause.row) for cause in diff.causes] == [("phase", "update_actor")]
    assert judge(diff, built_in_policy()).exit_code == 1
    same = compared(paths[0], paths[0])
    assert (same.headline, judge(same, built_in_policy()).exit_code) == ("time.phases", 0)
    assert same.metric("time.phases") is not None


def test_a_rank_is_its_slowest_device(tmp_path: Path) -> None:
    """Device 1 has the larger span; device 0 computes more, and does not count."""
    made = store(tmp_path, "devices").capture().step(1)
    made.time(1, 9 * MS, device=0).time(1, 6 * MS, device=1, exposed=5 * MS, comm=5 * MS)
    made.kernel(1, "MatMul", 3, 9 * MS, device=0).kernel(1, "MatMul", 2, 6 * MS, device=1)
    path = made.collective(1, "all_reduce", 0, 0, 5 * MS, device=1).collective(1, "send", 0, 0, MS, device=0).done()
    diff = compared(path, path)
    assert values(diff, "time.device_span") == (11.0, 11.0)
    assert values(diff, "time.compute") == (6.0, 6.0)
    assert found(diff, "kernels", "MatMul")["baseline_calls"] == 2
    assert [row["name"] for row in diff.sections["collectives"].rows] == ["all_reduce"]


def test_discrete_captures_of_a_step_are_summed_and_the_time_between_them_is_unprofiled(tmp_path: Path) -> None:
    """Rank 0 leaves three windows in step 5: 0–40, 50–70 and 100–130 ms: 10 + 30 ms lie between. Actor: 2 captures of
    one phase (5 and 7 ms) are summed, 12; rollout: 20 on one replica and 30 on the other, 25. Together 37."""
    made = store(tmp_path, "discrete")
    made.capture(0, 0, role="actor", phase="old_log_prob", host_start_ns=0, host_end_ns=40 * MS)
    made.capture(1, 0, role="actor", phase="old_log_prob", ordinal=1, host_start_ns=50 * MS, host_end_ns=70 * MS)
    made.capture(2, 0, role="actor", phase="update_actor", host_start_ns=100 * MS, host_end_ns=130 * MS)
    made.capture(3, None, role="rollout", phase="generate_sequences", replica=0, host_start_ns=0, host_end_ns=9 * MS)
    made.capture(4, None, role="rollout", phase="generate_sequences", replica=1, host_start_ns=0, host_end_ns=9 * MS)
    for capture, compute in enumerate((5, 7, 100, 20, 30)):
        made.step(5, capture).time(5, compute * MS, capture).kernel(5, "MatMul", 1, compute * MS, capture)
    path = made.done()
    diff = compared(path, path)
    assert values(diff, "time.unprofiled") == (40.0, 40.0)
    assert values(diff, "time.compute") == (137.0, 137.0)
    assert found(diff, "kernels", "MatMul")["baseline"] == 137.0
    assert found(diff, "ranks", "replica 1")["baseline"] == 30.0
    assert found(diff, "ranks", "rank 0")["baseline"] == 112.0


def test_a_capture_years_after_the_others_of_its_step_has_another_clock(tmp_path: Path) -> None:
    made = store(tmp_path, "apart")
    for number, start in enumerate((0, 1000 * 86400 * 1000 * MS)):
        made.capture(number, 0, role="actor", phase="update_actor", host_start_ns=start, host_end_ns=start + MS)
        made.step(5, number).time(5, 7 * MS, number)
    path = made.done()
    assert compared(path, path).metric("time.unprofiled") is None


def test_runs_of_a_side_are_averaged_and_kept_as_samples(tmp_path: Path) -> None:
    runs = [one_rank(tmp_path, name, [compute]) for name, compute in (("a", 10), ("b", 14), ("c", 20))]
    diff = compared(side("base", *runs[:2]), side("new", runs[2]))
    compute = diff.metric("time.compute")
    assert compute is not None
    assert (compute.baseline, compute.new, compute.delta) == (12.0, 20.0, 8.0)
    assert compute.samples == {"baseline": (10.0, 14.0), "new": (20.0,)}
    row = found(diff, "kernels", "MatMul")
    assert (row["baseline"], row["new"], row["baseline_calls"]) == (12.0, 20.0, 4)
    assert [run.name for run in diff.baseline.runs] == ["a", "b"]


def test_steps_and_ranks_are_selected(tmp_path: Path) -> None:
    made = store(tmp_path, "all").capture(0, 0).capture(1, 1)
    for rank in (0, 1):
        for step in (1, 2, 3):
            made.step(step, rank).time(step, (10 * step + rank) * MS, rank)
    path = made.done()
    diff = compared(path, path, base_steps=(1,), new_steps=(2, 3), ranks=(1,))
    assert values(diff, "time.compute") == (11.0, 26.0)
    assert diff.baseline.steps == (1,)
    assert diff.new.steps == (2, 3)
    assert "runs.same" not in {finding.key for finding in diff.quality}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"new_steps": (7,)}, "--step: all has no step 7; it has 1, 2"),
        ({"ranks": (0, 5)}, "--rank: all has no rank 5; it has 0"),
    ],
)
def test_a_selection_of_what_is_not_there_is_refused(tmp_path: Path, options: dict[str, object], message: str) -> None:
    path = store(tmp_path, "all").capture().step(1).step(2).done()
    with pytest.raises(UsageError, match=message):
        compared(path, path, **options)


def test_a_step_in_which_the_device_did_nothing_counts(tmp_path: Path) -> None:
    """Two marked steps of 20 ms, tasks in one of them only: half the computation per step, and 20 ms of wall time.
    Preparing is 4 in one and all of the other, so 12; span 10 and 0, so 5; tail 6 and 0, so 3: together the 20,
    of which it computed 5."""
    made = store(tmp_path, "idle").capture().step(1, wall=20 * MS).step(2, wall=20 * MS)
    path = (
        made.time(1, 10 * MS, step_ns=20 * MS, preparing_ns=4 * MS, tail_ns=6 * MS)
        .kernel(1, "MatMul", 1, 10 * MS)
        .done()
    )
    diff = compared(path, path)
    assert values(diff, "time.compute") == (5.0, 5.0)
    assert values(diff, "time.step") == (20.0, 20.0)
    parts = [values(diff, f"time.{part}")[0] for part in ("preparing", "device_span", "tail")]
    assert parts == [12.0, 5.0, 3.0]
    assert values(diff, "time.step_free") == (15.0, 15.0)
    (finding, _) = diff.quality
    assert (finding.key, finding.severity) == ("idle_step", "caution")
    assert "nothing ran on the device in step 2 of rank 0" in finding.message
    assert found(diff, "kernels", "MatMul")["baseline"] == 5.0
    assert diff.headline == "time.step"


def test_many_steps_in_which_the_device_did_nothing_are_one_finding_a_run(tmp_path: Path) -> None:
    """Of 1,500 steps the device computes in the first alone; on rank 1 also in the last."""
    made, one = store(tmp_path, "idle"), store(tmp_path, "one").capture()
    made.capture(0, 0).capture(1, 1)
    for step in range(1, 1501):
        made.step(step, 0, wall=20 * MS).step(step, 1, wall=20 * MS)
        one.step(step, wall=20 * MS)
    for capture, step in ((0, 1), (1, 1), (1, 1500)):
        made.time(step, 10 * MS, capture, step_ns=20 * MS, preparing_ns=4 * MS, tail_ns=6 * MS)
    one.time(1, 10 * MS, step_ns=20 * MS, preparing_ns=4 * MS, tail_ns=6 * MS)
    diff = compared(made.done(), one.done())
    assert [finding.message for finding in diff.quality if finding.key == "idle_step"] == [
        "Baseline: nothing ran on the device in some of steps 2, 3, 4, 5, … (1499) of rank 0, rank 1:"
        " these whole steps count as preparing.",
        "New side: nothing ran on the device in steps 2, 3, 4, 5, … (1499) of rank 0:"
        " these whole steps count as preparing.",
    ]


def test_the_account_of_a_step_in_which_the_device_did_nothing_counts(tmp_path: Path) -> None:
    """Steps of 20 and 30 ms, the second with nothing on the device: all 50 ms have a reason, so 25 per step."""
    made = store(tmp_path, "idle").capture().step(1, wall=20 * MS).step(2, wall=30 * MS)
    made.time(1, 10 * MS, step_ns=20 * MS, preparing_ns=4 * MS, tail_ns=6 * MS)
    path = made.add("r_account", capture=0, device_id=0, step=2, kind="gc", ns=30 * MS, pieces=1).done()
    diff = compared(path, path)
    assert values(diff, "time.step") == (25.0, 25.0)
    rows = diff.sections["account"].rows
    assert [row["baseline"] for row in rows if row["kind"] == "gc"] == [15.0]
    assert sum(float(row["baseline"] or 0) for row in rows) == 25.0


@pytest.mark.parametrize("is_marked", [(True, False), (False, True), (True, True), (False, False)])
def test_the_account_sums_to_the_change_even_if_only_one_side_marks_its_steps(
    tmp_path: Path, is_marked: tuple[bool, bool]
) -> None:
    """A span of 14 ms, and one of 17: 4 ms before the first task and 6 after the last count if both sides know them."""
    paths = []
    for name, marked, compute, free in zip(("old", "new"), is_marked, (10, 12), (4, 5), strict=True):
        wall = (compute + free + 10) * MS
        made = store(tmp_path, name).capture().step(1, wall=wall if marked else None)
        marks = {"step_ns": wall, "preparing_ns": 4 * MS, "tail_ns": 6 * MS} if marked else {}
        paths.append(made.time(1, compute * MS, free=free * MS, **marks).done())
    diff = compared(*paths)
    rows = diff.sections["account"].rows
    headline = diff.metric(diff.headline)
    assert headline is not None
    assert [sum(float(row[side] or 0) for row in rows) for side in ("baseline", "new", "delta")] == [
        headline.baseline, headline.new, headline.delta
    ]  # fmt: skip
    free_rows = [(row["baseline"], row["new"]) for row in rows if row["kind"] == "free"]
    assert free_rows == ([(4.0, 5.0)] if len(set(is_marked)) == 2 else [])
    said = [finding.message for finding in diff.quality if finding.key == "lone_marks"]
    assert len(said) == len(free_rows)


@pytest.mark.slow
def test_times_per_step_of_an_unknown_number_of_steps_have_no_cause(tmp_path: Path) -> None:
    """Three marked steps of 10 ms, and their 30 ms without marks: nothing is known to have changed."""
    marked, bare = store(tmp_path, "marked").capture(), store(tmp_path, "bare").capture().step(0)
    for step in (1, 2, 3):
        marked.step(step, wall=12 * MS).time(step, 10 * MS, step_ns=12 * MS).kernel(step, "MatMul", 2, 10 * MS)
    paths = marked.done(), bare.time(0, 30 * MS).kernel(0, "MatMul", 6, 30 * MS).done()
    diff = compared(*paths)
    assert diff.comparability.status == "not_comparable"
    assert (diff.causes, diff.unexplained and diff.unexplained.share) == ((), 1.0)
    assert any(
        "The number of steps on the new side is unknown" in finding.message for finding in diff.comparability.findings
    )
    assert compared(*paths, varied=("steps",)).causes


@pytest.mark.parametrize("table", ["r_phase", "r_operator", "r_api"])
def test_steps_of_an_unknown_number_are_not_compared_where_the_host_alone_was_recorded(
    tmp_path: Path, table: str
) -> None:
    """Two marked steps, and the same two without marks. There are no times of a device."""
    of_table: dict[str, dict[str, object]] = {
        "r_phase": {"phase": "update_actor", "by_user": False, "wall_ns": 10 * MS, "calls": 1},
        "r_operator": {"name": "aten::mm", "calls": 1, "host_ns": 10 * MS, "host_self_ns": 10 * MS},
        "r_api": {"layer": "cann", "name": "launch", "calls": 1, "sum_ns": 10 * MS},
    }
    marked, bare = store(tmp_path, "marked").capture(), store(tmp_path, "bare").capture().step(0)
    for step in (1, 2):
        marked.step(step, wall=12 * MS).add(table, capture=0, step=step, **of_table[table])
        bare.add(table, capture=0, step=0, **of_table[table])
    diff = compared(marked.done(), bare.done())
    assert (diff.comparability.status, diff.causes) == ("not_comparable", ())
    assert [finding.key for finding in diff.comparability.findings] == ["steps.marked", "steps"]
    assert "lone_marks" not in [finding.key for finding in diff.quality], "no span is compared"


def test_memory_can_be_compared_whichever_side_marks_its_steps(tmp_path: Path) -> None:
    peak = {"device_id": 0, "component": "PTA", "peak_allocated_bytes": 1}
    marked = store(tmp_path, "marked").capture().step(1, wall=12 * MS).add("r_memory", capture=0, **peak)
    bare = store(tmp_path, "bare").capture().step(0).add("r_memory", capture=0, **peak)
    assert compared(marked.done(), bare.done()).comparability.status != "not_comparable"


def test_the_account_counts_the_ranks_whose_steps_the_headline_counts(tmp_path: Path) -> None:
    """Steps of 24 ms on rank 0, and of 20 on rank 1, whose device was not recorded. Rank 2 marks none."""
    made = store(tmp_path, "some").capture(0, 0).capture(1, 1).capture(2, 2)
    made.step(1, 0, wall=24 * MS).time(1, 14 * MS, 0, step_ns=24 * MS).step(1, 1, wall=20 * MS)
    path = made.step(1, 2).time(1, 10 * MS, 2).done()
    diff = compared(path, path)
    assert values(diff, "time.step") == (22.0, 22.0)
    rows = {row["kind"]: row["baseline"] for row in diff.sections["account"].rows}
    assert rows == {"compute": 7.0, "python": 5.0, "unknown": 10.0}


def test_a_step_without_marks_beside_marked_ones_is_told(tmp_path: Path) -> None:
    made = store(tmp_path, "cut").capture().step(1, wall=24 * MS).step(2)
    path = made.time(1, 14 * MS, step_ns=24 * MS).time(2, 10 * MS).done()
    diff = compared(path, path)
    assert (values(diff, "time.step"), values(diff, "time.compute")) == ((24.0, 24.0), (12.0, 12.0))
    said = [finding.message for finding in diff.quality if finding.key == "unmarked_step"]
    assert [text.split(": ")[1] for text in said] == [
        "step 2 of rank 0 has no marks, so time.step leaves it out; other times count it."
    ] * 2


def test_many_steps_without_marks_are_one_finding(tmp_path: Path) -> None:
    made = store(tmp_path, "cut").capture().step(1, wall=24 * MS).time(1, 14 * MS, step_ns=24 * MS)
    for step in range(2, 8):
        made.step(step).time(step, 10 * MS)
    path = made.done()
    said = [finding.message for finding in compared(path, path).quality if finding.key == "unmarked_step"]
    assert [text.split(": ")[1] for text in said] == [
        "steps 2, 3, 4, 5, … (6) of rank 0 have no marks, so time.step leaves them out; other times count them."
    ] * 2


def test_the_device_is_free_in_the_step_where_it_neither_computes_nor_communicates(tmp_path: Path) -> None:
    """Of 20 ms it computes 10 and communicates 5, of which 3 lie outside of computation."""
    made = store(tmp_path, "free").capture().step(1, wall=20 * MS)
    path = made.time(1, 10 * MS, comm=5 * MS, exposed=3 * MS, step_ns=20 * MS).done()
    assert values(compared(path, path), "time.step_free") == (7.0, 7.0)


def test_operators_without_time_stamps_are_taken_over_the_whole_capture(tmp_path: Path) -> None:
    """Sums that the profiler wrote have no step: 12 ms in 3 steps are 4 ms a step."""
    made = store(tmp_path, "sums").capture()
    for step in (1, 2, 3):
        made.step(step).time(step, MS)
    made.add("r_operator", capture=0, name="aten::mm", calls=6, host_self_ns=12 * MS)
    path = made.add("r_api", capture=0, layer="acl", name="aclnnMm", calls=9, sum_ns=6 * MS).done()
    diff = compared(path, path)
    assert found(diff, "operators", "aten::mm")["baseline"] == 4.0
    assert found(diff, "apis", "aclnnMm", layer="acl")["baseline_calls"] == 3


def test_tasks_outside_all_steps_do_not_count(tmp_path: Path) -> None:
    made = store(tmp_path, "spill").capture().step(1).time(1, 10 * MS).kernel(1, "MatMul", 1, 10 * MS)
    path = made.add(
        "r_kernel", capture=0, device_id=0, name="Warm", op_type="Warm", category="cube", calls=1, sum_ns=MS
    ).done()
    assert [row["name"] for row in compared(path, path).sections["kernels"].rows] == ["MatMul"]


@pytest.mark.slow
def test_a_side_against_itself_changes_nothing_and_is_the_same_each_time(tmp_path: Path) -> None:
    made = store(tmp_path, "self")
    for rank in range(7):
        made.capture(rank, rank)
        for step in range(rank % 3 + 1):
            made.step(step, rank).time(
                step, (1000 + 37 * rank + step) * 1013, rank, comm=997, exposed=331, free=101 * rank
            )
            for op in range(5):
                made.kernel(step, f"Op{op}", op + 1, (rank + 1) * (step + 3) * (op + 7) * 101, rank)
            made.collective(step, "all_reduce", 0, 1000 + 13 * rank, 2000, rank)
            made.phase(step, "update_actor", 500 + rank, rank, wall_ns=900, calls=1)
    path = made.done()
    diff = compared(path, path)
    assert diff.comparability.status == "comparable"
    assert diff.comparability.findings == ()
    assert diff.causes == ()
    assert all(delta.delta == 0 and delta.ratio in (1, None) for delta in diff.overall)
    for section in diff.sections.values():
        assert all(row["delta"] in (0, None) and row["presence"] == "both" for row in section.rows), section.name
        assert section.matched_share in (1.0, None)
    assert to_json(to_document(compared(path, path))) == to_json(to_document(diff))


def test_a_file_that_is_no_store_is_an_input_error(tmp_path: Path) -> None:
    good = one_rank(tmp_path, "good", [1])
    bad = tmp_path / "bad.duckdb"
    bad.write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match="cannot be opened"):
        compared(good, bad)


def test_a_run_that_did_none_of_a_thing_counts_0_in_metrics_as_in_tables(tmp_path: Path) -> None:
    """Two of three runs have no collective and no rollout: 6 ms in one are 2 ms per run."""
    runs = []
    for number in range(3):
        made = store(tmp_path, f"run{number}").capture().step(1)
        made.time(1, 10 * MS, comm=6 * MS if number == 0 else 0).kernel(1, "MatMul", 2, 10 * MS)
        made.phase(1, "update_actor", 10 * MS, wall_ns=10 * MS)
        if number == 0:
            made.collective(1, "all_reduce", 0, 0, 6 * MS, size_bytes=300)
            made.phase(1, "generate_sequences", 0, wall_ns=6 * MS)
        runs.append(made.done())
    diff = compared(side("baseline", *runs), side("new", *runs))
    assert values(diff, "workload.collectives") == (pytest.approx(1 / 3),) * 2
    assert values(diff, "workload.collective_bytes") == (100, 100)
    assert found(diff, "collectives", "all_reduce")["new_calls"] == pytest.approx(1 / 3)
    assert values(diff, "phase.generate_sequences.wall") == (2, 2)
    assert found(diff, "phases", "generate_sequences")["new"] == 2
    assert values(diff, "workload.kernels") == (2, 2)


def test_without_kernels_it_is_unknown_what_communication_they_cover(tmp_path: Path) -> None:
    """One rank has kernels, the other has not: nor is the mean of what they cover known."""
    made = store(tmp_path, "half").capture(0, 0).capture(1, 1)
    for rank, compute in ((0, 10 * MS), (1, None)):
        made.step(1, rank).time(1, compute, rank, comm=4 * MS, exposed=2 * MS)
        exposed = None if compute is None else 2 * MS
        made.collective(1, "all_reduce", 0, 0, 4 * MS, rank, exposed_ns=exposed)
    path = made.done()
    diff = compared(path, path)
    row = found(diff, "collectives", "all_reduce")
    assert (row["new"], row["new_exposed_ms"]) == (4, None)
    assert values(diff, "time.exposed_comm") == (2, 2)
    (caution,) = [finding.message for finding in diff.quality if "exposed time of collectives" in finding.message][:1]
    assert "not compared" in caution


def test_a_rank_without_step_marks_is_not_one_long_step_beside_others_that_have_them(tmp_path: Path) -> None:
    """Rank 1 recorded the same three steps of 10 ms without marks: they are no step of 30 ms."""
    marked = store(tmp_path, "marked").capture(0, 0).capture(1, 1)
    unmarked = store(tmp_path, "unmarked").capture(0, 0).capture(1, 1)
    for made in (marked, unmarked):
        for step in (1, 2, 3):
            made.step(step, 0, 12 * MS).time(step, 10 * MS, 0, step_ns=12 * MS).kernel(step, "MatMul", 2, 10 * MS, 0)
    for step in (1, 2, 3):
        marked.step(step, 1, 12 * MS).time(step, 10 * MS, 1, step_ns=12 * MS).kernel(step, "MatMul", 2, 10 * MS, 1)
    unmarked.step(0, 1).time(0, 30 * MS, 1).kernel(0, "MatMul", 6, 30 * MS, 1)
    unmarked.add("r_path", capture=0, device_id=0, step=1, kind="compute", subject="MatMul", ns=30 * MS, pieces=1)
    unmarked.collective(0, "all_reduce", 0, 0, MS, 1)
    diff = compared(marked.done(), unmarked.done())
    assert values(diff, "time.compute") == (10, 10)
    assert found(diff, "kernels", "MatMul")["new_calls"] == 2
    assert "time.path" not in {delta.metric for delta in diff.overall if delta.new is not None}
    (text,) = [finding.message for finding in diff.quality if finding.key == "unmarked_rank"]
    assert "rank 1" in text
    assert diff.causes == ()


def test_the_path_does_not_need_a_rank_without_collectives(tmp_path: Path) -> None:
    """Rank 2 only replays graphs: without step marks it is left out, and the path of the others is whole."""
    made = store(tmp_path, "served").capture(0, 0).capture(1, 1).capture(2, 2)
    for rank in (0, 1):
        made.step(1, rank, 12 * MS).time(1, 10 * MS, rank, step_ns=12 * MS).collective(1, "all_reduce", 0, 0, MS, rank)
    made.step(0, 2).time(0, 30 * MS, 2)
    made.add("r_path", capture=0, device_id=0, step=1, kind="compute", subject="MatMul", ns=12 * MS, pieces=1)
    path = made.done()
    diff = compared(path, path)
    assert values(diff, "time.path") == (12, 12)
    assert any(finding.key == "unmarked_rank" for finding in diff.quality)
