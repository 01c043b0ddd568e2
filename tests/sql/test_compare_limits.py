"""Where a rule of a comparison begins to hold: the last case on one side of each limit, and the first on the other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rlcompare import resources
from rlcompare.store.new_file import run_all
from rlcompare.store.run_stage import RUN_STAGE
from tests.sql.rollup_stores import MS, RollupStore, compared, found, side, values
from tests.stores import rows


def logged(path: Path, *steps: Mapping[str, float | None], first: int = 1, **given: object) -> Path:
    """What training logged in consecutive steps, without a profiler."""
    store = RollupStore(path)
    for step, metrics in enumerate(steps, first):
        for name, value in metrics.items():
            row = {"step": step, "name": name, "value": value, "source": "file", "profiled": False, **given}
            store.add("metric", **row)
    return store.done()


def profiled(folder: Path, name: str, compute: int = 10 * MS, **times: int) -> RollupStore:
    return RollupStore(folder / f"{name}.duckdb").capture().step(1).time(1, compute, **times)


@pytest.mark.parametrize(
    ("seconds", "mean"),
    [((40.0, 10.0), 25.0), ((40.0, 10.0, 10.0), 20.0), ((40.0, 10.0, 10.0, 10.0), 10.0)],
)
def test_the_first_step_is_warm_up_where_three_others_are_left(
    tmp_path: Path, seconds: tuple[float, ...], mean: float
) -> None:
    names = ("timing_s/step", "response_length/mean")  # speed, and the work that stands beside it
    path = logged(tmp_path / "run.duckdb", *(dict.fromkeys(names, value) for value in seconds))
    diff = compared(path, path)
    assert [values(diff, name) for name in names] == [(mean, mean)] * 2


@pytest.mark.parametrize(
    ("seconds", "first", "means", "cautions"),
    [
        ((40.0,), 1, (40.0, 40.0), 2),
        ((40.0, 12.0), 1, (11.0, 12.0), 0),
        ((40.0,), 8, (12.0, 40.0), 0),  # no step in common: one finding says so
    ],
)
@pytest.mark.parametrize("is_new", [True, False])
def test_a_first_step_is_compared_with_the_same_first_step(
    tmp_path: Path, seconds: tuple[float, ...], first: int, means: tuple[float, float], cautions: int, is_new: bool
) -> None:
    """A log ends early; the other one has 5 steps: 40, 11, 12, 13, 12 s."""
    long = logged(tmp_path / "long.duckdb", *({"timing_s/step": value} for value in (40.0, 11.0, 12.0, 13.0, 12.0)))
    short = logged(tmp_path / "short.duckdb", *({"timing_s/step": value} for value in seconds), first=first)
    diff = compared(*(long, short) if is_new else (short, long))
    assert values(diff, "timing_s/step") == (means if is_new else means[::-1])
    told = [finding.message for finding in diff.quality if finding.key == "no_plain_step"]
    assert len(told) == cautions and all("every step that counts was warm-up" in text for text in told)


@pytest.mark.parametrize(
    ("seconds", "mean", "steps"),
    [((40.0, 10.0), 25.0, 2), ((40.0, 10.0, 10.0), 20.0, 3), ((40.0, 10.0, 10.0, 10.0), 10.0, 3)],
)
def test_show_drops_the_same_warm_up(tmp_path: Path, seconds: tuple[float, ...], mean: float, steps: int) -> None:
    path = logged(tmp_path / "run.duckdb", *({"timing_s/step": value, "actor/lr": value} for value in seconds))
    shown = rows(path, resources.sql("show/metrics"))
    assert {name: (found, count) for name, found, *_, count in shown} == {
        "timing_s/step": (mean, steps),
        "actor/lr": (pytest.approx(sum(seconds) / len(seconds)), len(seconds)),
    }


def test_the_first_test_of_a_run_is_no_warm_up(tmp_path: Path) -> None:
    """It is made in every other step."""
    tests = iter((4.0, 8.0, 6.0, 6.0))
    steps = [{"timing_s/step": 20.0, **({} if step % 2 else {"timing_s/testing": next(tests)})} for step in range(1, 9)]
    path = logged(tmp_path / "run.duckdb", *steps)
    assert values(compared(path, path), "timing_s/testing") == (6.0, 6.0)
    shown = {name: (mean, count) for name, mean, *_, count in rows(path, resources.sql("show/metrics"))}
    assert shown == {"timing_s/step": (20.0, 7), "timing_s/testing": (6.0, 4)}


def test_warm_up_that_the_run_names_is_dropped_and_nothing_else(tmp_path: Path) -> None:
    store = RollupStore(tmp_path / "run.duckdb")
    for step, seconds in enumerate((40.0, 20.0, 10.0, 10.0, 10.0), 1):
        for name in ("timing_s/step", "actor/entropy"):
            store.add("metric", step=step, name=name, value=seconds, source="file", profiled=False, warmup=step <= 1)
    path = store.done()
    diff = compared(path, path)
    assert values(diff, "timing_s/step") == (12.5, 12.5)
    assert values(diff, "actor/entropy") == (18.0, 18.0)  # no speed: all steps count


@pytest.mark.parametrize(("seconds", "inside"), [(29.99, True), (30.0, True), (30.001, False)])
@pytest.mark.parametrize("part", ["save_checkpoint", "testing"])
def test_checkpoints_and_tests_may_exceed_their_room_in_the_step_by_rounding(
    tmp_path: Path, part: str, seconds: float, inside: bool
) -> None:
    """Steps of 59.99 s leave 29.99 beside generation and update. Logs round: a hundredth of a second more is inside."""
    parts = {"timing_s/gen": 20.0, "timing_s/update_actor": 10.0, f"timing_s/{part}": seconds}
    step = {"timing_s/step": 59.99, **parts}
    path = logged(tmp_path / "run.duckdb", step, step)
    named = {str(row["name"]) for row in compared(path, path).sections["phases"].rows}
    assert (part in named) == inside


@pytest.mark.parametrize("part", ["save_checkpoint", "testing"])
def test_one_step_without_room_shows_that_checkpoints_and_tests_come_after_it(tmp_path: Path, part: str) -> None:
    """Both steps leave 30 s beside generation; the second took 31 to save or test, which its own timer cannot hold."""
    steps = ({"timing_s/step": 50.0, "timing_s/gen": 20.0, f"timing_s/{part}": seconds} for seconds in (29.0, 31.0))
    path = logged(tmp_path / "run.duckdb", *steps)
    named = {str(row["name"]) for row in compared(path, path).sections["phases"].rows}
    assert named == {"generate_sequences", "(outside)"}


def test_checkpoints_and_tests_take_as_long_whatever_the_tokens(tmp_path: Path) -> None:
    """Twice the tokens explain 5 s more of an update that took 5; the 4 s of a checkpoint and 1 s of tests stay."""
    sides = []
    for name, update, tokens in (("old", 5.0, 1000.0), ("new", 12.0, 2000.0)):
        step = {
            "timing_s/step": 5.0 + update,
            "timing_s/update_actor": update,
            "timing_s/save_checkpoint": 4.0,
            "timing_s/testing": 1.0,
            "perf/total_num_tokens": tokens,
        }
        sides.append(logged(tmp_path / f"{name}.duckdb", step, step))
    diff = compared(*sides)
    rates = {str(row["name"]): row["baseline_ms_per_token"] for row in diff.sections["phases"].rows}
    assert rates == {"update_actor": 5.0, "save_checkpoint": None, "testing": None, "(outside)": 0.0}
    (workload,) = (cause for cause in diff.causes if cause.what == "workload")
    assert workload.delta_ms == pytest.approx(5000.0)
    assert workload.share == pytest.approx(5 / 7)


def test_time_per_token_of_generation_counts_responses_alone(tmp_path: Path) -> None:
    step = {
        "timing_s/step": 30.0, "timing_s/gen": 20.0, "timing_s/update_actor": 10.0,
        "perf/total_num_tokens": 1000.0, "workload.response_tokens": 400.0,
    }  # fmt: skip
    path = logged(tmp_path / "run.duckdb", step, step)
    rates = {str(row["name"]): row["new_ms_per_token"] for row in compared(path, path).sections["phases"].rows}
    assert (rates["generate_sequences"], rates["update_actor"]) == (50.0, 10.0)


@pytest.mark.parametrize(("same", "loose"), [(39, True), (40, False)])
def test_kernels_meet_by_exact_shapes_where_four_fifths_of_their_time_does(
    tmp_path: Path, same: int, loose: bool
) -> None:
    """Of 50 ms a side, 39 in the shape that both have are 78 %; 40 are 80 %."""
    sides = []
    for name, other in (("old", "16,8"), ("new", "24,8")):
        made = profiled(tmp_path, name, 50 * MS)
        made.kernel(1, "MatMul", 1, same * MS, shapes="8,8").kernel(1, "MatMul", 1, (50 - same) * MS, shapes=other)
        sides.append(made.done())
    rows = compared(*sides).sections["kernels"].rows
    assert {row["input_shapes"] for row in rows} == ({"*,8"} if loose else {"8,8", "16,8", "24,8"})


@pytest.mark.parametrize(("on_both", "shapes"), [(True, {"*,8"}), (False, {"16,8", "24,8"})])
def test_shapes_of_an_operator_that_one_side_alone_runs_stay_apart(
    tmp_path: Path, on_both: bool, shapes: set[str]
) -> None:
    """No shape has a partner in either case; that shapes vary shows only where both sides run the operator."""
    old, new = profiled(tmp_path, "old", 2 * MS), profiled(tmp_path, "new", 2 * MS)
    old.kernel(1, "Sort" if on_both else "MatMul", 2, 2 * MS, shapes="8,8")
    new.kernel(1, "Sort", 1, MS, shapes="16,8").kernel(1, "Sort", 1, MS, shapes="24,8")
    section = compared(old.done(), new.done()).sections["kernels"]
    assert {row["input_shapes"] for row in section.rows if row["name"] == "Sort"} == shapes
    assert ("Sort" in section.note) == on_both


@pytest.mark.parametrize(("shapes", "rows"), [(32, 32), (33, 1)])
def test_more_than_32_shapes_at_one_place_meet_as_one(tmp_path: Path, shapes: int, rows: int) -> None:
    made = profiled(tmp_path, "run", shapes * MS)
    for size in range(shapes):
        made.kernel(1, "MatMul", 1, MS, shapes=f"{size + 1},8", host_op="aten::mm")
    path = made.done()
    assert len(compared(path, path).sections["kernels"].rows) == rows


@pytest.mark.parametrize(("matched", "severity"), [(79, "caution"), (80, None)])
def test_four_fifths_of_the_kernels_time_with_a_partner_are_the_same_work(
    tmp_path: Path, matched: int, severity: str | None
) -> None:
    sides = []
    for name, other in (("old", "Sort"), ("new", "Conv2D")):
        made = profiled(tmp_path, name, 100 * MS)
        sides.append(made.kernel(1, "MatMul", 1, matched * MS).kernel(1, other, 1, (100 - matched) * MS).done())
    findings = {finding.key: finding.severity for finding in compared(*sides).comparability.findings}
    assert findings.get("shapes") == severity


@pytest.mark.parametrize(("late_us", "straggler"), [(250, False), (260, True)])
def test_who_starts_last_by_less_than_a_quarter_of_the_mean_spread_is_not_late(
    tmp_path: Path, late_us: int, straggler: bool
) -> None:
    """Three collectives; in one rank 0 comes late by so much that the mean spread is about 1 ms."""
    rest = 3000 - 2 * late_us
    made = RollupStore(tmp_path / "late.duckdb")
    starts = [(0, late_us), (10_000, 10_000 + late_us), (20_000 + rest, 20_000)]
    for rank in (0, 1):
        made.capture(rank, rank).step(1, rank).time(1, MS, rank, exposed=MS, comm=MS)
        for ordinal, start in enumerate(starts):
            made.collective(1, "all_reduce", ordinal, start[rank] * 1000, 100 * MS, rank)
    path = made.done()
    assert found(compared(path, path), "ranks", "rank 1")["new_straggler"] == straggler


def test_steps_that_only_runs_of_one_side_share_are_not_shared(tmp_path: Path) -> None:
    """Both runs of the baseline log steps 1 and 2, the new side 3 and 4: none of both sides, so all of them count."""
    old = [logged(tmp_path / f"{name}.duckdb", {"actor/entropy": 1.0}, {"actor/entropy": 3.0}) for name in ("a", "b")]
    new = logged(tmp_path / "new.duckdb", {"actor/entropy": 5.0}, {"actor/entropy": 7.0}, first=3)
    assert values(compared(side("old", *old), side("new", new)), "actor/entropy") == (2.0, 6.0)


def test_validation_before_training_counts_only_where_there_is_nothing_else(tmp_path: Path) -> None:
    path = logged(tmp_path / "run.duckdb", {"val/acc": 0.5, "actor/entropy": 9.0}, {"actor/entropy": 1.0}, first=0)
    diff = compared(path, path)
    assert values(diff, "actor/entropy") == (1.0, 1.0)
    assert values(diff, "val/acc") == (0.5, 0.5)
    assert diff.new.steps == () and diff.new.runs[0].steps == 2  # step 0 has a metric of training too


def test_step_0_counts_where_the_run_trained_in_it(tmp_path: Path) -> None:
    """It is then the warm-up of times; a test that is logged with it was before training."""
    steps = [{"timing_s/step": 30.0 + 10 * (step == 0), "critic/score/mean": 0.2, "val/acc": 0.5} for step in range(6)]
    steps[0] |= {"critic/score/mean": 0.8, "val/acc": 0.1}
    path = logged(tmp_path / "run.duckdb", *steps, first=0)
    diff = compared(path, path)
    for name, value in (("timing_s/step", 30.0), ("critic/score/mean", 0.3), ("val/acc", 0.5)):
        assert values(diff, name) == (pytest.approx(value), pytest.approx(value))
    said = [finding.message for finding in diff.quality if finding.key == "steps_left_out"]
    assert said[0] == "Baseline: training times are means over 5 of 6 steps; left out: 1 warm-up."
    (series,) = (one for one in diff.series if (one.side, one.metric) == ("new", "critic/score/mean"))
    assert series.steps[0] == 0


@pytest.mark.parametrize(("third", "first"), [(1.009, 4), (1.011, 3)])
def test_metrics_diverge_at_the_first_step_that_is_more_than_a_hundredth_apart(
    tmp_path: Path, third: float, first: int
) -> None:
    old = logged(tmp_path / "old.duckdb", *({"actor/entropy": 1.0} for _ in range(5)))
    new = logged(tmp_path / "new.duckdb", *({"actor/entropy": value} for value in (1.0, 1.0, third, 2.0, 2.0)))
    assert found(compared(old, new), "metrics", "actor/entropy")["first_divergence"] == first


@pytest.mark.parametrize(
    ("apart", "first"),
    [([], None), ([3], None), ([35], None), ([39], None), ([2, 3, 4, 5], None), ([40], 40), ([*range(11, 41)], 11),
     ([3, *range(20, 41)], 20), ([1, *range(3, 41)], 3), ([1, 2, *range(4, 41)], 1), ([1, 2, *range(5, 41)], 5),
     ([*range(20, 30), *range(31, 41)], 20)],
)  # fmt: skip
def test_metrics_diverge_where_they_stay_apart(tmp_path: Path, apart: list[int], first: int | None) -> None:
    """40 steps, some of them apart: a step that differs by luck is none, nor is one that agrees by luck an end."""
    steps = range(1, 41)
    old = logged(tmp_path / "old.duckdb", *({"actor/entropy": 1.0} for _ in steps))
    new = logged(tmp_path / "new.duckdb", *({"actor/entropy": 2.0 if step in apart else 1.0} for step in steps))
    assert found(compared(old, new), "metrics", "actor/entropy")["first_divergence"] == first


@pytest.mark.parametrize(("first", "known"), [(-(10**15), True), (-(10**15) - 3, False), (-(2**63), False)])
def test_a_step_beyond_what_sources_accept_is_unknown(tmp_path: Path, first: int, known: bool) -> None:
    old, new = (
        logged(tmp_path / f"{value}.duckdb", *({"actor/entropy": value} for _ in range(3)), first=first)
        for value in (1.0, 2.0)
    )
    row = found(compared(old, new), "metrics", "actor/entropy")
    assert row["first_divergence"] == (first if known else None)
    assert (row["baseline"], row["new"]) == (1.0, 2.0)


def test_steps_of_unknown_numbers_are_no_warm_up(tmp_path: Path) -> None:
    path = logged(tmp_path / "run.duckdb", *({"timing_s/step": 10.0 + step} for step in range(4)), first=-(2**63))
    diff = compared(path, path)
    assert values(diff, "timing_s/step") == (11.5, 11.5)
    assert "no_plain_step" not in {finding.key for finding in diff.quality}


@pytest.mark.parametrize(("windows", "unprofiled"), [(((0, 40),), None), (((0, 40), (50, 60)), 10.0)])
def test_time_between_windows_takes_two_of_them(
    tmp_path: Path, windows: tuple[tuple[int, int], ...], unprofiled: float | None
) -> None:
    made = RollupStore(tmp_path / "run.duckdb")
    for number, (start, end) in enumerate(windows):
        made.capture(number, 0, role="actor", phase=f"p{number}", host_start_ns=start * MS, host_end_ns=end * MS)
        made.step(1, number).time(1, 5 * MS, number)
    path = made.done()
    delta = compared(path, path).metric("time.unprofiled")
    assert (delta and delta.new) == unprofiled


def test_windows_that_overlap_leave_no_time_between_them(tmp_path: Path) -> None:
    """0–40, 30–50 and 60–70 ms: 10 ms lie between, and the overlap takes nothing off."""
    made = RollupStore(tmp_path / "run.duckdb")
    for number, (start, end) in enumerate(((0, 40), (30, 50), (60, 70))):
        made.capture(number, 0, role="actor", phase=f"p{number}", host_start_ns=start * MS, host_end_ns=end * MS)
        made.step(1, number).time(1, 5 * MS, number)
    path = made.done()
    assert values(compared(path, path), "time.unprofiled") == (10.0, 10.0)


@pytest.mark.parametrize(("rest", "outside"), [(2e-7, 0.0), (1e-5, 0.01)])
def test_less_than_a_microsecond_outside_of_all_timers_is_none(tmp_path: Path, rest: float, outside: float) -> None:
    step = {"timing_s/step": 30.0 + rest, "timing_s/gen": 20.0, "timing_s/update_actor": 10.0}
    path = logged(tmp_path / "run.duckdb", step, step)
    assert found(compared(path, path), "phases", "(outside)")["new"] == pytest.approx(outside, abs=1e-6)


def test_steps_in_which_a_timer_is_no_number_count_as_the_others(tmp_path: Path) -> None:
    step = {"timing_s/step": 30.0, "timing_s/gen": 20.0, "timing_s/update_actor": 10.0}
    sound = logged(tmp_path / "sound.duckdb", *[step] * 4)
    unusable: dict[str, float | None] = {**step, "timing_s/gen": None}
    damaged = logged(tmp_path / "damaged.duckdb", step, unusable, step, unusable)
    diff = compared(sound, damaged)
    rows = {row["name"]: row["new"] for row in diff.sections["phases"].rows}
    assert rows == {"generate_sequences": 20_000.0, "update_actor": 10_000.0, "(outside)": 0.0}
    assert diff.causes == ()


def test_phases_are_unknown_if_a_timer_is_never_a_number(tmp_path: Path) -> None:
    step = {"timing_s/step": 30.0, "timing_s/gen": 20.0, "timing_s/update_actor": 10.0}
    sound = logged(tmp_path / "sound.duckdb", *[step] * 4)
    damaged = logged(tmp_path / "damaged.duckdb", *[{**step, "timing_s/gen": None}] * 4)
    diff = compared(sound, damaged)
    assert {row["new"] for row in diff.sections["phases"].rows} <= {None}
    assert diff.causes == ()


@pytest.mark.slow
@pytest.mark.parametrize("never", [{}, {"timing_s/gen": None}])
def test_a_run_without_phases_beside_others_is_named(tmp_path: Path, never: dict[str, float | None]) -> None:
    step = {"timing_s/step": 30.0, "timing_s/gen": 20.0, "timing_s/update_actor": 10.0}
    whole, lone = logged(tmp_path / "whole.duckdb", *[step] * 4), {"timing_s/step": 30.0} | never
    bare = logged(tmp_path / "bare.duckdb", *[lone] * 4)
    said = [one.message for one in compared(whole, side("new", whole, bare)).quality if one.key == "no_phases"]
    assert [message.startswith("New side: bare: it has timing_s/step, but no phases") for message in said] == [True]
    for sides in ((whole, bare), (bare, bare), (whole, side("new", whole, whole))):
        assert "no_phases" not in {one.key for one in compared(*sides).quality}


def test_what_only_one_rank_recorded_is_not_compared(tmp_path: Path) -> None:
    """Inputs, phases, waiting and bytes: a mean over both ranks would take the other's for 0."""

    def run(name: str, known: bool) -> Path:
        made = RollupStore(tmp_path / f"{name}.duckdb")
        for rank in (0, 1):
            has = known or rank == 0
            made.capture(rank, rank).step(1, rank).time(1, 10 * MS, rank, exposed=MS, comm=MS)
            made.kernel(
                1, "MatMul", 10, 10 * MS, rank, shapes="8,8" if has else None, phase="update_actor" if has else None,
                elements=640 if has else None, host_op="aten::mm" if has else None,
            )  # fmt: skip
            half = MS // 2 if has else None
            made.collective(
                1, "all_reduce", 0, 0, MS, rank, wait_ns=half, transit_ns=half, size_bytes=8 if has else None
            )
            if has:
                made.phase(1, "update_actor", 10 * MS, rank)
        return made.done()

    diff = compared(run("sound", known=True), run("partly", known=False))
    assert values(diff, "workload.input_elements") == (640.0, None)
    assert values(diff, "workload.collective_bytes") == (8.0, None)
    assert values(diff, "phase.update_actor.compute") == (10.0, 10.0)
    (kernel,) = diff.sections["kernels"].rows
    assert (kernel["baseline"], kernel["new"], kernel["new_calls"]) == (10.0, 10.0, 10.0)
    (collective,) = [row for row in diff.sections["collectives"].rows if row["task"] is None]
    assert (collective["new"], collective["new_wait_ms"], collective["new_transit_ms"]) == (1.0, None, None)
    (finding,) = [finding for finding in diff.quality if finding.key == "partly_measured"]
    assert finding.message.startswith("New side: only some ranks or runs recorded the sizes of collectives, the")
    assert diff.causes == ()


def test_copies_that_only_one_rank_knows_are_not_compared(tmp_path: Path) -> None:
    """Idle time is free time without copies. A mean over rank 0 alone would exceed the free time of both."""

    def run(name: str, ranks: int) -> Path:
        made = RollupStore(tmp_path / f"{name}.duckdb")
        for rank, free in ((0, 6), (1, 1)):
            known = {"exposed_copy_ns": MS, "idle_ns": (free - 1) * MS} if rank < ranks else {}
            made.capture(rank, rank).step(1, rank).time(1, 10 * MS, rank, free=free * MS, **known)
        return made.done()

    diff = compared(run("sound", 2), run("partly", 1))
    assert values(diff, "time.free") == (3.5, 3.5)
    assert (values(diff, "time.exposed_copy"), values(diff, "time.idle")) == ((1.0, None), (2.5, None))
    (finding,) = [finding for finding in diff.quality if finding.key == "partly_measured"]
    assert finding.message.startswith("New side: only some ranks or runs recorded the time of copies, and so idle time")


@pytest.mark.parametrize(
    ("lacking", "said"),
    [
        ((), []),
        (("preparing_ns", "tail_ns"), ["the time of the step before and after the device's tasks"]),
        (("preparing_ns", "tail_ns", "compute_ns"), ["computation"]),
    ],
)
def test_times_that_one_rank_lacks_are_named(tmp_path: Path, lacking: tuple[str, ...], said: list[str]) -> None:
    made = RollupStore(tmp_path / "run.duckdb")
    for rank in (0, 1):
        known = {name: MS for name in ("preparing_ns", "tail_ns") if not rank or name not in lacking}
        compute = None if rank and "compute_ns" in lacking else 10 * MS
        made.capture(rank, rank).step(1, rank, wall=12 * MS).time(1, compute, rank, **known)
    path = made.done()
    found = [one.message for one in compared(path, path).quality if one.key == "partly_measured"]
    tail = "is unknown on 1 of 2 ranks; its mean leaves them out."
    assert found == [f"{side}: {what} {tail}" for side in ("Baseline", "New side") for what in said]


def test_times_that_one_run_lacks_are_named(tmp_path: Path) -> None:
    """The parts of the step's time are means over one run, the device span over both."""
    whole = RollupStore(tmp_path / "whole.duckdb").capture().step(1, wall=12 * MS)
    whole.time(1, 10 * MS, preparing_ns=MS, tail_ns=MS)
    bare = RollupStore(tmp_path / "bare.duckdb").capture().step(1).time(1, 10 * MS)
    both = side("run", whole.done(), bare.done())
    diff = compared(both, both)
    said = [one.message for one in diff.quality if one.key == "partly_measured"]
    tail = "the step's wall time is unknown in 1 of 2 runs (bare); its mean leaves them out."
    assert said == [f"{which}: {tail}" for which in ("Baseline", "New side")]


def test_a_log_has_no_captures_whose_times_are_unknown(tmp_path: Path) -> None:
    log = logged(tmp_path / "log.duckdb", {"timing_s/step": 12.0})
    profile = profiled(tmp_path, "profile").done()
    for sides in ((log, profile), (profile, log)):
        assert not [one.message for one in compared(*sides).quality if one.key == "partly_measured"]


@pytest.mark.parametrize(("wall", "said"), [(10, False), (1, False), (0.099, True)])
def test_a_device_that_takes_far_longer_than_the_step_is_reported(tmp_path: Path, wall: float, said: bool) -> None:
    made = RollupStore(tmp_path / "run.duckdb").capture().step(1, wall=int(wall * MS))
    path = made.time(1, 10 * MS, step_ns=int(wall * MS)).done()
    messages = [one.message for one in compared(path, path).quality if one.key == "beyond_step"]
    told = "the device takes 10.000 ms for a step that lasts 0.099 ms on the host"
    assert [told in message for message in messages] == [True, True] * said


@pytest.mark.parametrize(("sums", "new"), [((), 5.0), ((0, 1), 5.0), ((1,), None)])
def test_device_times_of_operators_are_not_mixed_with_the_profilers_sums(
    tmp_path: Path, sums: tuple[int, ...], new: float | None
) -> None:
    """The profiler's sums of an operator, which have no shortest call, contain collectives and copies."""
    made = RollupStore(tmp_path / "run.duckdb")
    for rank in (0, 1):
        made.capture(rank, rank).step(1, rank).time(1, 10 * MS, rank)
        made.add(
            "r_operator", capture=rank, step=1, name="aten::mm", calls=1, host_ns=MS, host_self_ns=MS, host_total_ns=MS,
            device_self_ns=5 * MS, device_total_ns=5 * MS, min_ns=None if rank in sums else MS,
        )  # fmt: skip
    path = made.done()
    assert found(compared(path, path), "operators", "aten::mm")["new_device_total_ms"] == new


@pytest.mark.parametrize(
    ("late_us", "straggler"),
    [
        ([500, 500, -500, -500], None),                # as often, and as late
        ([900, 900, -500, -500], None),                # as often, and not twice as late
        ([1000, 1000, -500, -500], "rank 1"),
        ([500, 500, 500, -500, -500], None),           # more often, as is one of two by luck
        ([500, 500, 500, 500, -500, -500], "rank 1"),  # twice as often
        ([500, 500, 500, -2000, -2000], "rank 0"),     # less often, and far later
    ],
)  # fmt: skip
def test_a_straggler_is_last_twice_as_often_as_others_or_twice_as_late(
    tmp_path: Path, late_us: list[int], straggler: str | None
) -> None:
    """Where a number is negative, rank 0 is late by so many microseconds."""
    made = RollupStore(tmp_path / "late.duckdb")
    for rank in (0, 1):
        made.capture(rank, rank).step(1, rank).time(1, 10 * MS, rank, exposed=MS, comm=MS)
        for ordinal, late in enumerate(late_us):
            own = max(late, 0) if rank else max(-late, 0)
            start = 100 * ordinal * MS
            made.collective(1, "all_reduce", ordinal, start + own * 1000, start + 50 * MS, rank)
    path = made.done()
    rows = compared(path, path).sections["ranks"].rows
    assert [row["name"] for row in rows if row["new_straggler"]] == ([straggler] if straggler else [])


@pytest.mark.parametrize(
    ("host", "ahead", "late"),
    [
        (None, 0, 2.0), ("other", 0, 2.0),
        ("other", 50, 2.0), ("other", 3 * 86_400_000, 2.0),  # the clock of the other machine is ahead
        ("same", 50, None), (None, 50, None),                # one clock: the collectives are others
    ],
)  # fmt: skip
def test_a_rank_is_late_by_one_clock_in_collectives_that_meet(
    tmp_path: Path, host: str | None, ahead: int, late: float | None
) -> None:
    """Rank 1, on device 1, starts 2 ms after rank 0, and both end together; its clock is ahead by so many ms."""
    made = RollupStore(tmp_path / "run.duckdb")
    for rank in (0, 1):
        machine = host and (host if rank else "same")
        made.capture(rank, rank, host=machine, world_size=2).step(1, rank)
        made.time(1, 10 * MS, rank, exposed=9 * MS, comm=9 * MS, device=rank)
        for ordinal in range(3):
            start, end = (20 * ordinal + 2 * rank) * MS, (20 * ordinal + 6) * MS
            shift = rank * ahead * MS
            made.collective(1, "all_reduce", ordinal, start + shift, end + shift, rank, device=rank)
    path = made.done()
    with duckdb.connect(str(path)) as con:
        run_all(con, RUN_STAGE)
    rows = compared(path, path).sections["ranks"].rows
    assert [row["new_late_ms"] for row in rows] == ([None] * 2 if late is None else [0.0, late])
    assert [row["new_straggler"] for row in rows] == [False, late is not None]


def test_sends_and_receives_make_nobody_late(tmp_path: Path) -> None:
    """They pair two different operators: rank 1 starts its part of each 5 ms later."""
    made = RollupStore(tmp_path / "run.duckdb")
    for rank in (0, 1):
        made.capture(rank, rank).step(1, rank).time(1, 10 * MS, rank, exposed=MS, comm=MS)
        for ordinal, kind in enumerate(("send", "recv", "batch_send_recv")):
            made.collective(1, kind, 0, (20 * ordinal + 5 * rank) * MS, (20 * ordinal + 9) * MS, rank)
    path = made.done()
    rows = compared(path, path).sections["ranks"].rows
    assert [(row["new_late_ms"], row["new_straggler"]) for row in rows] == [(None, False), (None, False)]


def test_ranks_of_other_groups_make_nobody_late(tmp_path: Path) -> None:
    """Each process numbers its groups for itself: ranks 2 and 3 start theirs 5 ms later than 0 and 1 start theirs."""
    made = RollupStore(tmp_path / "run.duckdb")
    for rank in range(4):
        pair = rank // 2
        made.capture(rank, rank, world_size=4).step(1, rank).time(1, 10 * MS, rank, exposed=MS, comm=MS)
        name = f"hcom_allReduce__{('210', '576')[pair]}_0_1"
        given: dict[str, Any] = {"group": "group 0", "group_name": "Group 0 Communication", "name": name}
        made.collective(1, "all_reduce", 0, 5 * pair * MS, 9 * MS, rank, **given)
    path = made.done()
    rows = compared(path, path).sections["ranks"].rows
    assert [(row["new_late_ms"], row["new_straggler"]) for row in rows] == [(0.0, False)] * 4


@pytest.mark.parametrize(("new", "causes"), [(100.99, 0), (101.0, 1)])
def test_a_headline_that_moves_by_a_hundredth_has_causes(tmp_path: Path, new: float, causes: int) -> None:
    old = profiled(tmp_path, "old", 100 * MS).kernel(1, "Sort", 1, 100 * MS)
    more = profiled(tmp_path, "new", round(new * MS)).kernel(1, "Sort", 1, round(new * MS))
    diff = compared(old.done(), more.done())
    assert len([cause for cause in diff.causes if cause.section == "kernels"]) == causes


@pytest.mark.parametrize(("grown", "named"), [(49, False), (51, True)])
def test_a_headline_that_moves_by_50_us_has_causes(tmp_path: Path, grown: int, named: bool) -> None:
    old = profiled(tmp_path, "old", 1_000_000).kernel(1, "Sort", 1, 1_000_000)
    new = profiled(tmp_path, "new", 1_000_000 + grown * 1000).kernel(1, "Sort", 1, 1_000_000 + grown * 1000)
    assert bool(compared(old.done(), new.done()).causes) == named


@pytest.mark.parametrize(("late", "straggler"), [(1.9, False), (2.0, True)])
def test_delays_of_a_fiftieth_of_the_step_make_a_straggler(tmp_path: Path, late: float, straggler: bool) -> None:
    made = RollupStore(tmp_path / "late.duckdb")
    for rank in (0, 1):
        made.capture(rank, rank).step(1, rank).time(1, 99 * MS, rank, exposed=MS, comm=MS)
        made.collective(1, "all_reduce", 0, round(rank * late * MS), 9 * MS, rank)
    path = made.done()
    assert found(compared(path, path), "ranks", "rank 1")["new_straggler"] == straggler


def test_a_profile_and_a_log_have_nothing_in_common(tmp_path: Path) -> None:
    profile = profiled(tmp_path, "profile").done()
    log = logged(tmp_path / "log.duckdb", {"timing_s/step": 1.0}, {"timing_s/step": 1.1})
    for pair, words in (((profile, log), ("baseline", "new side")), ((log, profile), ("new side", "baseline"))):
        findings = compared(*pair).comparability.findings
        (finding,) = (one for one in findings if one.key in ("profile", "metrics"))
        assert (finding.key, finding.severity) == ("profile", "severe")
        assert finding.message == (
            f"Only the {words[0]} has a profile, and only the {words[1]} has training metrics: the sides measured"
            " different things."
        )


def test_time_outside_of_phases_is_unknown_where_no_step_is_marked(tmp_path: Path) -> None:
    def made(name: str, *, marked: bool) -> Path:
        store = RollupStore(tmp_path / f"{name}.duckdb").capture().step(1, wall=30 * MS if marked else None)
        store.time(1, 10 * MS)
        for phase, wall in (("update_actor", 20), *([("(outside)", 10)] if marked else [])):
            store.phase(1, phase, 10 * MS if wall == 20 else 0, wall_ns=wall * MS, calls=1)
        return store.done()

    rows = {
        row["name"]: row for row in compared(made("a", marked=True), made("b", marked=False)).sections["phases"].rows
    }
    assert (rows["update_actor"]["baseline"], rows["update_actor"]["new"]) == (20.0, 20.0)
    assert (rows["(outside)"]["baseline"], rows["(outside)"]["new"]) == (10.0, None)


def test_steps_count_that_all_runs_of_both_sides_logged(tmp_path: Path) -> None:
    """The step gets longer as training goes on. Most runs of the baseline ended before the others."""
    sides = []
    for name, lengths in (("old", (20, 16, 16, 16)), ("new", (20, 20, 20, 20))):
        steps = [{"timing_s/step": 10.0 + step} for step in range(20)]
        runs = [logged(tmp_path / f"{name}{run}.duckdb", *steps[:length]) for run, length in enumerate(lengths)]
        sides.append(side(name, *runs))
    assert values(compared(*sides), "timing_s/step") == (18.0, 18.0)


def test_where_runs_share_few_steps_those_that_some_run_of_each_side_logged_count(tmp_path: Path) -> None:
    """One run of the new side was continued from a checkpoint: it has none of the first steps."""
    first = logged(tmp_path / "first.duckdb", *({"timing_s/step": 10.0} for _ in range(20)))
    later = logged(tmp_path / "later.duckdb", *({"timing_s/step": 12.0} for _ in range(12)), first=15)
    diff = compared(first, side("new", first, later))
    step = diff.metric("timing_s/step")
    assert step is not None and (step.baseline, step.samples["new"][0]) == (10.0, 10.0)
