"""Causes against changes that were injected where the answer is known: by our writer's simulation, and by hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rlcompare.compare.operator_changes import operator_changes
from rlcompare.model.diff import Diff
from rlcompare.report.summary.change import _CAUSE_LIMIT
from rlcompare.writer import Change, SampleRun, write_sample
from tests.sql.rollup_stores import MS, RollupStore, compared, found
from tests.stores import store_of

Sampled = Callable[..., Path]


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Sampled:
    """Stores of samples of four ranks with half a percent of noise, each written once: by changes, seed and level."""

    @cache
    def made(
        *changes: Change, seed: int = 1, level: str = "level1", contents: tuple[str, ...] = ("npu", "cpu", "shapes")
    ) -> Path:
        folder = tmp_path_factory.mktemp("sample")
        run = SampleRun(
            ranks=(0, 1, 2, 3),
            steps=(2,),
            jitter=0.005,
            contents=contents,
            seed=seed,
            changes=changes,
            level=level,
        )
        write_sample(run, folder / "run")
        return store_of(folder / "run", folder / "run.duckdb", keep_events=False)

    return made


@pytest.fixture(scope="module")
def baseline(sampled: Sampled) -> Path:
    return sampled(seed=0)


@pytest.mark.slow
@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("change", "what", "row", "words"),
    [
        (Change.slower("MatMulV2", 1.5), "operator_slower", "MatMulV2", "MatMulV2 takes 50 % longer per call"),
        (
            Change.slower("FlashAttentionScore", 6),
            "operator_slower",
            "FlashAttentionScore",
            "6.0 times as long per call",
        ),
        (Change.extra("Sort"), "operator_calls", "Sort", "Sort is new: 32 calls per step"),
        (Change.late(1, 5 * MS), "python", "update_actor", "grew by 5.00 ms per step, most of it on rank 1."),
        (Change.frequency(0.8), "frequency", "MatMulV2", "fell from 1,800 to 1,440 MHz"),
        (Change.lost_overlap(), "lost_overlap", "all_gather", "all_gather overlaps less with kernels"),
        (Change.tokens(1.5), "workload", "workload.input_elements", "The work itself grew"),
    ],
)
def test_the_first_cause_is_what_was_changed(
    baseline: Path, sampled: Sampled, change: Change, what: str, row: str, words: str
) -> None:
    diff = compared(baseline, sampled(change))
    first = diff.causes[0]
    assert (first.what, first.row) == (what, row)
    assert words in first.text
    assert first.share is not None and 0.5 < first.share < 1.5
    assert diff.unexplained is not None
    assert sum(cause.share for cause in diff.causes) + diff.unexplained.share == pytest.approx(1.0)


@pytest.mark.slow
def test_noise_and_more_memory_have_no_cause(baseline: Path, sampled: Sampled) -> None:
    assert compared(baseline, sampled(Change.memory(1.5))).causes == ()


@pytest.mark.slow
def test_an_improvement_has_the_same_cause(baseline: Path, sampled: Sampled) -> None:
    slow = sampled(Change.slower("MatMulV2", 1.5))
    first = compared(slow, baseline).causes[0]
    assert (first.what, first.row) == ("operator_slower", "MatMulV2")
    assert first.delta_ms < 0 < (first.share or 0)
    assert "33 % less time per call" in first.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "what", "row", "words"),
    [
        (Change.late(1, 5 * MS), "python", "update_actor", "shrank by 5.00 ms per step, most of it on rank 1."),
        (Change.lost_overlap(), "lost_overlap", "all_gather", "all_gather overlaps more with kernels"),
        (Change.frequency(0.8), "frequency", "MatMulV2", "rose from 1,440 to 1,800 MHz"),
    ],
)
def test_what_was_mended_is_named(
    baseline: Path, sampled: Sampled, change: Change, what: str, row: str, words: str
) -> None:
    first = compared(sampled(change), baseline).causes[0]
    assert (first.what, first.row) == (what, row)
    assert words in first.text
    assert first.share is not None and 0.5 < first.share < 1.5
    assert first.delta_ms < 0


@pytest.mark.slow
def test_a_lower_clock_is_named_beside_more_tokens(baseline: Path, sampled: Sampled) -> None:
    diff = compared(baseline, sampled(Change.frequency(0.8), Change.tokens(1.3)))
    named = {cause.what: cause for cause in diff.causes}
    assert {"workload", "frequency"} <= named.keys()
    assert "fell from 1,800 to 1,440 MHz" in named["frequency"].text


@pytest.mark.slow
def test_a_late_rank_is_the_straggler_and_noise_is_not(baseline: Path, sampled: Sampled) -> None:
    diff = compared(baseline, sampled(Change.late(2, 3 * MS)))
    flags = {row["name"]: (row["baseline_straggler"], row["new_straggler"]) for row in diff.sections["ranks"].rows}
    assert flags == {f"rank {rank}": (False, rank == 2) for rank in range(4)}


@pytest.mark.slow
def test_a_late_rank_is_named_over_several_steps(tmp_path: Path) -> None:
    stores = []
    for name, changes in (("old", ()), ("new", (Change.late(1, 3 * MS),))):
        write_sample(SampleRun(ranks=(0, 1, 2, 3), steps=(1, 2), changes=changes), tmp_path / name)
        stores.append(store_of(tmp_path / name, tmp_path / f"{name}.duckdb", keep_events=False))
    diff = compared(*stores)
    assert [row["name"] for row in diff.sections["ranks"].rows if row["new_straggler"]] == ["rank 1"]
    assert (diff.causes[0].what, diff.causes[0].row) == ("python", "update_actor")
    assert diff.causes[0].text.endswith(", most of it on rank 1.")


@pytest.mark.slow
def test_what_slowed_on_all_ranks_is_no_lateness(tmp_path: Path) -> None:
    """README's tour: matrix multiplications take 3.30 ms more on both ranks, and rank 1 is 4.00 ms late.

    The longer kernels hide 0.33 ms of launching.
    """
    stores = []
    for name, changes in (("old", ()), ("new", (Change.slower("MatMulV2", 1.3), Change.late(1, 4 * MS)))):
        write_sample(SampleRun(changes=changes), tmp_path / name)
        stores.append(store_of(tmp_path / name, tmp_path / f"{name}.duckdb", keep_events=False))
    diff = compared(*stores)
    shares = {cause.what: cause.share or 0 for cause in diff.causes}
    assert diff.causes[0].what == "python"
    assert diff.causes[0].text.endswith(", most of it on rank 1.")
    assert shares["python"] + shares["operator_slower"] == pytest.approx(7.30 / 6.98, abs=0.01)


def two_ranks(folder: Path, name: str, rank0: tuple[int, int, int], rank1: tuple[int, int, int]) -> RollupStore:
    """Computation of rank 0 and rank 1 in ms, exposed communication, and when its collective starts."""
    store = RollupStore(folder / f"{name}.duckdb")
    for capture, (compute, exposed, start) in enumerate((rank0, rank1)):
        store.capture(capture, capture, ordinal=0).step(1, capture)
        store.time(1, compute * MS, capture, exposed=exposed * MS, comm=exposed * MS)
        store.collective(1, "all_reduce", 0, start * MS, start * MS + exposed * MS, capture)
    return store


def test_only_what_the_late_rank_needs_beyond_the_others_counts(tmp_path: Path) -> None:
    """Both compute 10 ms more and rank 1 another 6, which rank 0 waits for: of 16 ms the lateness is 6."""
    old, new = (
        two_ranks(tmp_path, "old", (40, 2, 40), (40, 2, 40)),
        two_ranks(tmp_path, "new", (50, 8, 50), (56, 2, 56)),
    )
    (late,) = (cause for cause in causes(old, new).causes if cause.what == "straggler")
    assert late.delta_ms == pytest.approx(6.0)
    assert "on rank 1 computation grew by 16.00 ms, on the others by 10.00 ms." in late.text


def test_another_rank_that_was_as_late_before_makes_no_straggler(tmp_path: Path) -> None:
    """Rank 0 came 4 ms late, and now rank 1 does: what communication took longer is not that."""
    old = two_ranks(tmp_path, "old", (44, 2, 44), (40, 6, 40))
    new = two_ranks(tmp_path, "new", (40, 16, 40), (44, 12, 44))
    assert "straggler" not in {cause.what for cause in causes(old, new).causes}


def path_on(folder: Path, name: str, rank: int, late: int, longer: int = 0) -> RollupStore:
    """Rank 1 begins a step of two ranks so many ms later than rank 0. The path leads over one of them."""
    store = RollupStore(folder / f"{name}.duckdb")
    for capture, begins in enumerate((0, late)):
        store.capture(capture, capture).step(1, capture, wall=(100 + longer - begins) * MS)
        store.time(1, 40 * MS, capture).collective(1, "all_reduce", 0, 90 * MS, 90 * MS, capture)
        window = {"device_id": 0, "step": 1, "from_ns": begins * MS, "until_ns": (100 + longer) * MS}
        store.add("r_window", capture=capture, **window)
    delay = late if rank == 1 else 0
    of_path = {"capture": rank, "device_id": 0, "step": 1, "pieces": 1}
    store.add("r_path", **of_path, kind="operator", subject="aten::mul", ns=(100 + longer - delay) * MS)
    if delay:
        store.add("r_path", **of_path, kind="late start", subject=f"rank {rank}", ns=delay * MS)
    return store


@pytest.mark.parametrize(
    ("rank", "late", "text", "member"),
    [
        (0, 4, "4.00 ms less for the late start of rank 1, as the step depends on other ranks than before.", None),
        (1, 8, "The lag of rank 1 behind the first rank's start grew by 4.00 ms per step.", "rank 1"),
    ],
)  # fmt: skip
def test_a_delay_that_is_as_before_did_not_change_because_the_path_leads_elsewhere(
    tmp_path: Path, rank: int, late: int, text: str, member: str | None
) -> None:
    diff = causes(path_on(tmp_path, "old", 1, 4), path_on(tmp_path, "new", rank, late, longer=10))
    (found,) = (cause for cause in diff.causes if cause.what == "late_start")
    assert found.text.endswith(text)
    assert found.member == member


@pytest.mark.slow
def test_without_types_and_shapes_the_operator_is_found_by_name(sampled: Sampled) -> None:
    """Level0: names alone, and no way to tell larger inputs from slower kernels."""
    old, new = sampled(seed=0, level="level0"), sampled(Change.slower("MatMulV2", 1.5), seed=0, level="level0")
    first = compared(old, new).causes[0]
    assert first.what == "operator_slower"
    assert "MatMul" in first.row


@pytest.mark.slow
@pytest.mark.parametrize("alone", ["baseline", "new"])
def test_where_one_side_alone_recorded_the_host_idle_time_is_not_divided(sampled: Sampled, alone: str) -> None:
    """The device waits 4 ms longer. One side has no framework operators."""
    late = Change.late(1, 4_000_000)
    bare, whole = ("npu", "shapes"), ("npu", "cpu", "shapes")
    old = sampled(seed=0, contents=whole if alone == "baseline" else bare)
    diff = compared(old, sampled(late, seed=0, contents=whole if alone == "new" else bare))
    assert [(cause.what, cause.share) for cause in diff.causes] == [("free", pytest.approx(1.0, abs=0.02))]
    assert "The time in which the device runs nothing grew by 4.0" in diff.causes[0].text
    assert "it is unknown what the device waits for" in " ".join(one.message for one in diff.comparability.findings)


def test_shapes_on_one_side_alone_are_no_other_inputs(tmp_path: Path) -> None:
    """One operator takes twice as long; the new side was recorded without input shapes."""
    old, new = by_hand(tmp_path, "old", 60 * MS), by_hand(tmp_path, "new", 90 * MS)
    for name, before, after in (("MatMul", 30, 60), ("Sort", 20, 20), ("Cast", 10, 10)):
        old.kernel(1, name, 10, before * MS, shapes="8,8", elements=640)
        new.kernel(1, name, 10, after * MS, shapes=None, input_dtypes=None)
    diff = causes(old, new)
    assert {row["presence"] for row in diff.sections["kernels"].rows} == {"both"}
    assert diff.sections["kernels"].note.endswith("one side was recorded without input shapes.")
    (cause,) = diff.causes
    assert (cause.what, cause.share) == ("operator_slower", pytest.approx(1.0))
    assert cause.text == "MatMul takes 2.0 times as long per call, called 10 times per step as before."


@pytest.mark.parametrize(
    ("longest", "told"),
    [(21 * MS, True), (3 * MS, False)],  # one call of 20 takes all of the change; all of them take twice as long
)
def test_one_call_that_takes_all_of_the_change_is_told(tmp_path: Path, longest: int, told: bool) -> None:
    old, new = by_hand(tmp_path, "old", 40 * MS), by_hand(tmp_path, "new", 60 * MS)
    old.kernel(1, "MatMul", 20, 20 * MS).kernel(1, "Sort", 20, 20 * MS)
    new.kernel(1, "MatMul", 20, 40 * MS, max_ns=longest).kernel(1, "Sort", 20, 20 * MS)
    (cause,) = causes(old, new).causes
    assert cause.text.startswith("MatMul takes 2.0 times as long per call")
    clause = "nearly all of it is in 1 of 20 calls per step, at least 5 times as long as the others of their kind"
    assert (clause in cause.text) == told


def by_hand(folder: Path, name: str, compute: int, *, exposed: int = 0, comm: int = 0, free: int = 0) -> RollupStore:
    return (
        RollupStore(folder / f"{name}.duckdb").capture().step(1).time(1, compute, exposed=exposed, comm=comm, free=free)
    )


def causes(baseline: RollupStore, new: RollupStore) -> Diff:
    return compared(baseline.done(), new.done())


@pytest.mark.slow
def test_a_headline_that_hardly_moved_has_no_cause(tmp_path: Path) -> None:
    """0.9 % of 100 ms, however it came about; and 40 us, however large a part that is."""
    old, new = by_hand(tmp_path, "old", 100 * MS), by_hand(tmp_path, "new", 100_900_000)
    assert causes(old.kernel(1, "Sort", 1, MS), new.kernel(1, "Sort", 1, 1_900_000)).causes == ()
    old, new = by_hand(tmp_path, "small", 60_000), by_hand(tmp_path, "large", 100_000)
    assert causes(old, new).causes == ()


def test_operators_that_explain_the_change_beat_the_phase_that_holds_them(tmp_path: Path) -> None:
    """The phase grew by 10 ms, 6 of them in Sort and 4 in MatMul."""
    old, new = by_hand(tmp_path, "old", 50 * MS), by_hand(tmp_path, "new", 60 * MS)
    for made, sort, other in ((old, 4, 46), (new, 10, 50)):
        made.kernel(1, "Sort", 2, sort * MS, phase="update_actor").kernel(
            1, "MatMul", 2, other * MS, phase="update_actor"
        )
        made.phase(1, "update_actor", (sort + other) * MS, role="actor")
    found_causes = causes(old, new).causes
    assert [(cause.what, cause.row) for cause in found_causes[:2]] == [
        ("operator_slower", "Sort"),
        ("operator_slower", "MatMul"),
    ]
    assert found_causes[0].text.startswith("Sort in update_actor takes 2.5 times as long per call for the same inputs")
    assert found_causes[0].text.endswith(", called 2 times per step as before.")
    assert found_causes[0].share == pytest.approx(0.6)


@pytest.mark.parametrize("times", [(7, 9), (9, 7)])
def test_a_device_that_goes_on_after_the_step_is_judged_by_its_own_time(tmp_path: Path, times: tuple[int, int]) -> None:
    """The host's step takes 1 ms on both sides, as nothing waits for the device at its end."""
    stores = []
    for name, compute in zip(("old", "new"), times, strict=True):
        made = RollupStore(tmp_path / f"{name}.duckdb").capture().step(1, wall=MS)
        made.time(1, compute * MS, exposed=MS, comm=MS, free=MS, step_ns=MS)
        stores.append(made.kernel(1, "MatMul", 4, (compute - 3) * MS).kernel(1, "Sort", 1, 3 * MS).done())
    diff = compared(*stores)
    assert diff.headline == "time.device_span"
    (cause,) = diff.causes
    assert (cause.row, cause.share) == ("MatMul", pytest.approx(1.0))
    said = [finding.message for finding in diff.quality if finding.key == "outlasting"]
    assert [text.split(":")[0] for text in said] == ["Baseline", "New side"]


@pytest.mark.parametrize("outlasting", ["old", "new"])
def test_where_one_side_alone_waits_for_the_device_steps_last_as_long_as_the_longer(
    tmp_path: Path, outlasting: str
) -> None:
    """5 ms on the device in each step. One side's host takes 1 ms for a step, that of the other one 9 ms."""
    stores = []
    for name in ("old", "new"):
        wall = MS if name == outlasting else 9 * MS
        made = RollupStore(tmp_path / f"{name}.duckdb").capture().step(1, wall=wall)
        stores.append(made.time(1, 5 * MS, step_ns=wall, preparing_ns=0, tail_ns=wall - 5 * MS).done())
    diff = compared(*stores)
    period, span = diff.metric("time.period"), diff.metric("time.device_span")
    assert diff.headline == "time.period" and period and span
    assert (period.baseline, period.new) == ((5.0, 9.0) if outlasting == "old" else (9.0, 5.0))
    assert span.delta == 0.0
    (said,) = [finding.message for finding in diff.quality if finding.key == "outlasting"]
    assert "so time.period is compared" in said


def test_opposite_changes_of_one_operator_are_told_as_such(tmp_path: Path) -> None:
    """In one phase +6 ms, in another one -2 ms; of some inputs +6 ms, of others -2 ms."""
    old, new = by_hand(tmp_path, "old", 20 * MS), by_hand(tmp_path, "new", 24 * MS)
    for made, first, second in ((old, 4, 16), (new, 10, 14)):
        made.kernel(1, "bmm", 4, first * MS, phase="old_log_prob")
        made.kernel(1, "bmm", 8, second * MS, phase="update_actor")
    (cause,) = causes(old, new).causes
    assert cause.text == "bmm takes 4.00 ms more: +6.00 ms in old_log_prob; -2.00 ms in update_actor."
    old, new = by_hand(tmp_path, "one", 20 * MS), by_hand(tmp_path, "two", 24 * MS)
    for made, first, second in ((old, 4, 16), (new, 10, 14)):
        made.kernel(1, "bmm", 4, first * MS, shapes="8,8").kernel(1, "bmm", 8, second * MS, shapes="9,9")
    (cause,) = causes(old, new).causes
    assert cause.text == "bmm takes 4.00 ms more: +6.00 ms with inputs 8,8; -2.00 ms with inputs 9,9."


def test_a_step_that_one_rank_lacks_on_one_side_is_no_cause(tmp_path: Path) -> None:
    """Both ranks take 9 ms for the second step. The new side's rank 1 has no second step."""
    stores = {}
    for name, steps in (("old", (1, 2)), ("new", (1,)), ("both", (1,))):
        made = RollupStore(tmp_path / f"{name}.duckdb")
        for rank, had in ((0, (1,) if name == "both" else (1, 2)), (1, steps)):
            made.capture(rank, rank, world_size=2)
            for step in had:
                time = (5 if step == 1 else 9) * MS
                made.step(step, rank).time(step, time, rank).kernel(step, "MatMul", 4, time, rank)
        stores[name] = made.done()
    diff = compared(stores["old"], stores["new"])
    assert diff.causes == () and "lacking_steps" in {finding.key for finding in diff.quality}


@pytest.mark.slow
def test_the_figures_of_a_phase_are_its_own(tmp_path: Path) -> None:
    """A kernel of 4 short calls in one phase and 4 long ones in another: those of the first get longer, or more."""
    cases = {"old": (4, 4), "slower": (4, 24), "more": (20, 20)}
    stores = {}
    for name, (calls, time) in cases.items():
        made = by_hand(tmp_path, name, (38 + time) * MS)
        made.kernel(1, "gelu", calls, time * MS, phase="old_log_prob", shapes=None)
        made.kernel(1, "gelu", 4, 38 * MS, phase="update_actor", shapes=None)
        stores[name] = made.done()
    (cause,) = compared(stores["old"], stores["slower"]).causes
    assert cause.text == "gelu in old_log_prob takes 6.0 times as long per call, called 4 times per step as before."
    (cause,) = compared(stores["old"], stores["more"]).causes
    assert cause.text == "gelu in old_log_prob is called more often: 4 → 20 times per step, 16.00 ms more."


def test_calls_of_unknown_inputs_are_not_told_from_their_time(tmp_path: Path) -> None:
    """12 long calls, and 48 short ones that came: no call is slower or faster."""
    old, new = by_hand(tmp_path, "old", 40 * MS), by_hand(tmp_path, "new", 46 * MS)
    old.kernel(1, "copy", 12, 24 * MS, shapes=None).kernel(1, "Sort", 1, 16 * MS, shapes=None)
    new.kernel(1, "copy", 60, 30 * MS, shapes=None).kernel(1, "Sort", 1, 16 * MS, shapes=None)
    (cause,) = causes(old, new).causes
    assert cause.text == "copy takes 6.00 ms more: 12 → 60 calls per step, 75 % less time per call on average."


def test_more_calls_of_everything_is_workload(tmp_path: Path) -> None:
    old, new = by_hand(tmp_path, "old", 40 * MS), by_hand(tmp_path, "new", 50 * MS)
    for made, calls in ((old, 4), (new, 5)):
        for op in ("MatMul", "Cast", "Add"):
            made.kernel(1, op, calls, calls * 3 * MS)
    first = causes(old, new).causes[0]
    assert (first.what, first.row) == ("workload", "workload.kernels")
    assert "more calls, 12 → 15" in first.text
    assert first.delta_ms == pytest.approx(9.0)


def test_smaller_calls_for_the_same_inputs_are_divided_work(tmp_path: Path) -> None:
    """Two micro-batches instead of one: twice the calls, each of half the elements and 0.6 of the time."""
    old = by_hand(tmp_path, "old", 100 * MS)
    new = by_hand(tmp_path, "new", 120 * MS)
    for op in ("MatMul", "Softmax", "Add", "Mul"):
        old.kernel(1, op, 10, 25 * MS, shapes="64,64", elements=40960.0)
        new.kernel(1, op, 20, 30 * MS, shapes="32,64", elements=40960.0)
    cause = causes(old, new).causes[0]
    assert cause.text.startswith(
        "The work was divided into more, smaller calls: 4 operators had 40 → 80 calls per step"
    )


def test_more_tokens_are_named_first(tmp_path: Path) -> None:
    old, new = by_hand(tmp_path, "old", 40 * MS), by_hand(tmp_path, "new", 50 * MS)
    for made, tokens in ((old, 1000.0), (new, 1200.0)):
        made.add("metric", step=1, name="perf/total_num_tokens", value=tokens, source="file", profiled=False)
    first = causes(old, new).causes[0]
    assert (first.what, first.row) == ("workload", "workload.total_tokens")
    assert "20 % more work (workload.total_tokens 1,000 → 1,200): the work changed" in first.text
    assert first.delta_ms == pytest.approx(8.0)


def test_communication_is_told_apart_into_transfer_and_waiting(tmp_path: Path) -> None:
    old = by_hand(tmp_path, "old", 40 * MS, exposed=5 * MS, comm=5 * MS)
    new = by_hand(tmp_path, "new", 40 * MS, exposed=15 * MS, comm=15 * MS)
    old.collective(1, "all_reduce", 0, 0, 5 * MS, wait_ns=MS, transit_ns=4 * MS, size_bytes=8)
    new.collective(1, "all_reduce", 0, 0, 15 * MS, wait_ns=MS, transit_ns=14 * MS, size_bytes=8)
    first = causes(old, new).causes[0]
    assert (first.what, first.row, first.share) == ("communication", "all_reduce", 1.0)
    assert first.text.startswith("all_reduce grew by 10.00 ms per step (all of it exposed), nearly all of it transfer")


@pytest.mark.parametrize(("gathers", "text"), [(1, "all_reduce (2 → 1 calls) → all_gather + reduce_scatter"), (5, "")])
def test_collectives_that_came_in_the_place_of_another_are_netted(tmp_path: Path, gathers: int, text: str) -> None:
    """One of two reductions of 5 ms became a scattered one of 4 ms and a gathering of 7 ms."""
    old = by_hand(tmp_path, "old", 40 * MS, exposed=10 * MS, comm=10 * MS)
    new = by_hand(tmp_path, "new", 40 * MS, exposed=16 * MS, comm=16 * MS)
    for made, calls in ((old, 2), (new, 1)):
        for ordinal in range(calls):
            made.collective(1, "all_reduce", ordinal, 0, 5 * MS)
    new.collective(1, "reduce_scatter", 0, 0, 4 * MS)
    for ordinal in range(gathers):
        new.collective(1, "all_gather", ordinal, 0, 7 * MS // gathers)
    new.kernel(1, "MatMul", 1, MS).kernel(1, "Sort", 1, MS)
    netted = [cause.text for cause in causes(old, new).causes if cause.what == "replaced"]
    assert netted == ([f"{text}: 6.00 ms more in all."] if text else [])


def test_a_host_that_is_slow_shows_as_free_time(tmp_path: Path) -> None:
    old, new = by_hand(tmp_path, "old", 40 * MS, free=MS), by_hand(tmp_path, "new", 40 * MS, free=9 * MS)
    first = causes(old, new).causes[0]
    assert (first.what, first.delta_ms) == ("python", 8.0)
    assert "waits for Python code between operators" in first.text


def test_larger_inputs_are_told_from_slower_kernels(tmp_path: Path) -> None:
    """Twice the elements in 2.5 times the time: of 15 ms more, 10 are the inputs and 5 the kernel."""
    old, new = by_hand(tmp_path, "old", 10 * MS), by_hand(tmp_path, "new", 25 * MS)
    old.kernel(1, "MatMul", 1, 10 * MS, shapes="100,64", elements=6400.0)
    new.kernel(1, "MatMul", 1, 25 * MS, shapes="200,64", elements=12800.0)
    diff = causes(old, new)
    (change,) = operator_changes(diff.sections["kernels"].rows)
    assert (change.calls, change.size, change.slower) == pytest.approx((0.0, 10.0, 5.0))
    assert found(diff, "kernels", "MatMul")["input_shapes"] == "*,64"


@pytest.mark.slow
def test_the_work_of_a_matrix_product_is_what_it_computes(tmp_path: Path) -> None:
    """Twice the rows of one input: 1.5 times the elements, and twice the operations in twice the time."""
    old, new = by_hand(tmp_path, "old", 10 * MS), by_hand(tmp_path, "new", 20 * MS)
    known: dict[str, Any] = {"work": "gemm", "at_most": False}
    old.kernel(1, "MatMul", 1, 10 * MS, shapes="64,64;64,64", elements=8192.0, flop=2 * 64**3, **known)
    new.kernel(1, "MatMul", 1, 20 * MS, shapes="128,64;64,64", elements=12288.0, flop=4 * 64**3, **known)
    stores = old.done(), new.done()
    for pair in (stores, stores[::-1]):
        (cause,) = compared(*pair).causes
        assert (cause.what, cause.delta_ms) == ("workload", pytest.approx(10.0 if pair is stores else -10.0))


def test_what_made_up_for_a_part_of_the_change_comes_last(tmp_path: Path) -> None:
    """The step got 20 ms faster; MatMul took 5 ms more, in more calls of half the elements."""
    old, new = by_hand(tmp_path, "old", 100 * MS), by_hand(tmp_path, "new", 80 * MS)
    old.kernel(1, "MatMul", 1, 10 * MS, shapes="200,64", elements=12800.0).kernel(1, "Sort", 1, 90 * MS)
    new.kernel(1, "MatMul", 3, 15 * MS, shapes="100,64", elements=19200.0).kernel(1, "Sort", 1, 65 * MS)
    diff = causes(old, new)
    assert [(cause.row, cause.share) for cause in diff.causes] == [("Sort", 1.25), ("MatMul", -0.25)]
    assert diff.unexplained is not None and diff.unexplained.share == pytest.approx(0.0)


def test_more_calls_cost_the_idle_time_before_them_too(tmp_path: Path) -> None:
    """1,000 new calls of 7 ns, with 20 us of launching before each of them."""
    gap = 1000 * 20 * 1000
    old, new = by_hand(tmp_path, "old", 40 * MS), by_hand(tmp_path, "new", 40 * MS + 7000, free=gap)
    old.kernel(1, "MatMul", 1, 40 * MS)
    new.kernel(1, "MatMul", 1, 40 * MS).kernel(1, "Sort", 1000, 7000, gap_ns=gap)
    (cause,) = causes(old, new).causes
    assert (cause.what, cause.row, cause.delta_ms) == ("operator_calls", "Sort", pytest.approx(20.007))
    assert cause.text == "Sort is new: 1,000 calls per step that take 0.007 ms, and 20.00 ms of launching them."


def timed(store: RollupStore, seconds: float, number: int = 4) -> RollupStore:
    """Training's own timer of so many plain steps."""
    for step in range(number):
        store.add("metric", step=step + 2, name="timing_s/step", value=seconds, source="file", profiled=False)
    return store


def test_parts_of_the_profiled_step_are_parts_of_its_own_change(tmp_path: Path) -> None:
    """Plain steps take 59 ms more; the profiled one 200, of which 150 are Sort's and 50 free: 75 % and 25 % of that."""
    old = timed(by_hand(tmp_path, "old", 100 * MS, free=10 * MS).kernel(1, "Sort", 1, 100 * MS), 0.2)
    new = timed(by_hand(tmp_path, "new", 250 * MS, free=60 * MS).kernel(1, "Sort", 1, 250 * MS), 0.259)
    diff = causes(old, new)
    assert diff.headline == "timing_s/step"
    shares = {cause.what: cause.share for cause in diff.causes}
    assert (shares["operator_slower"], shares["python"]) == pytest.approx((0.75, 0.25))
    assert diff.causes[0].text.endswith("as before (of the profiled step, which grew by 200.0 ms).")


def test_a_profile_that_changed_the_other_way_explains_nothing(tmp_path: Path) -> None:
    old, new = by_hand(tmp_path, "old", 110 * MS), by_hand(tmp_path, "new", 100 * MS)
    old, new = old.kernel(1, "Sort", 1, 110 * MS), new.kernel(1, "Sort", 1, 100 * MS)
    assert causes(timed(old, 0.2), timed(new, 0.259)).causes == ()


def test_without_a_device_nothing_waits_for_the_host(tmp_path: Path) -> None:
    stores = [RollupStore(tmp_path / f"{name}.duckdb").capture(executor="host").step(1) for name in ("old", "new")]
    for store, free in zip(stores, (1, 9), strict=True):
        store.time(1, 40 * MS, free=free * MS)
    assert causes(*stores).causes[0].text == "The time in which no operator runs grew by 8.00 ms per step."


def test_a_cause_on_one_rank_of_several_names_it(tmp_path: Path) -> None:
    """Sort takes 6 ms more on rank 2 of three, which is 2 ms in the mean; nobody waits in a collective."""
    sides = []
    for name, more in (("old", 0), ("new", 6)):
        store = RollupStore(tmp_path / f"{name}.duckdb")
        for rank in range(3):
            sort = 10 + (more if rank == 2 else 0)
            store.capture(rank, rank).step(1, rank).time(1, (20 + sort) * MS, rank)
            store.kernel(1, "Sort", 2, sort * MS, rank).kernel(1, "MatMul", 2, 20 * MS, rank)
        sides.append(store)
    (cause,) = causes(*sides).causes
    assert (cause.what, cause.row, cause.delta_ms) == ("operator_slower", "Sort", pytest.approx(2.0))
    assert cause.text.endswith("called 2 times per step as before, on average, most of it on rank 2.")


def test_the_input_shapes_that_got_slower_are_named(tmp_path: Path) -> None:
    old, new = by_hand(tmp_path, "old", 40 * MS), by_hand(tmp_path, "new", 45 * MS)
    for made, slow in ((old, 10), (new, 15)):
        made.kernel(1, "MatMul", 2, 30 * MS, shapes="64,64").kernel(1, "MatMul", 2, slow * MS, shapes="512,64")
    (cause,) = causes(old, new).causes
    assert cause.text == (
        "MatMul with inputs 512,64 takes 50 % longer per call for the same inputs, called 2 times per step as before."
    )


@pytest.mark.parametrize(("before", "names_it"), [("FLOAT16;FLOAT16", True), ("FLOAT;FLOAT", False)])
def test_a_change_of_data_types_is_named(tmp_path: Path, before: str, names_it: bool) -> None:
    old, new = by_hand(tmp_path, "old", 40 * MS), by_hand(tmp_path, "new", 60 * MS)
    old.kernel(1, "MatMul", 2, 40 * MS, input_dtypes=before)
    new.kernel(1, "MatMul", 2, 60 * MS, input_dtypes="FLOAT;FLOAT")
    (cause,) = causes(old, new).causes
    assert (cause.text == "MatMul now works on FLOAT instead of FLOAT16: 20.00 ms more.") == names_it


def test_a_kernel_that_two_operators_launched_is_netted_with_one_of_each(tmp_path: Path) -> None:
    """A release of a library names the kernels of mm and addmm apart, and makes them a tenth quicker."""
    old, new = by_hand(tmp_path, "old", 100 * MS), by_hand(tmp_path, "new", 98 * MS)
    for made, sort in ((old, 80), (new, 80)):
        made.kernel(1, "Sort", 9, sort * MS, host_op="aten::sort")
    old.kernel(1, "sm90", 96, 12 * MS, host_op="aten::mm").kernel(1, "sm90", 72, 8 * MS, host_op="aten::addmm")
    new.kernel(1, "nvjet_a", 96, 11 * MS, host_op="aten::mm").kernel(1, "nvjet_b", 72, 7 * MS, host_op="aten::addmm")
    (cause,) = causes(old, new).causes
    assert cause.text == "sm90 → nvjet_a + nvjet_b: 2.00 ms less in all."


def test_a_change_of_data_types_is_named_for_calls_with_and_without_a_bias(tmp_path: Path) -> None:
    """No list of types holds most of the time."""
    old, new = by_hand(tmp_path, "old", 40 * MS), by_hand(tmp_path, "new", 60 * MS)
    for made, kind, time in ((old, "FLOAT", 20), (new, "DT_BF16", 30)):
        for inputs, shapes in ((2, "64,64;64,64"), (3, "64,64;64,64;64")):
            made.kernel(1, "MatMul", 2, time * MS, shapes=shapes, input_dtypes=";".join([kind] * inputs))
    (cause,) = causes(old, new).causes
    assert cause.text == "MatMul now works on DT_BF16 instead of FLOAT: 20.00 ms more."


def in_precision(made: RollupStore, kind: str, mm: int, addmm: int, calls: int = 4) -> None:
    """Kernels of two operators, whose names depend on the data type, and one that both types have."""
    types = f"{kind};{kind}"
    made.kernel(1, f"gemm_{kind}", calls, mm * MS, host_op="aten::mm", input_dtypes=types)
    made.kernel(1, f"gemm_{kind}", 2, addmm * MS, host_op="aten::addmm", shapes="8,8;8,8", input_dtypes=types)
    made.kernel(1, "Sort", 2, 40 * MS, host_op="aten::sort", input_dtypes="INT64")


@pytest.mark.parametrize("way", [1, -1])
def test_another_precision_is_one_cause_also_where_all_kernels_have_other_names(tmp_path: Path, way: int) -> None:
    made = by_hand(tmp_path, "a", 100 * MS), by_hand(tmp_path, "b", 180 * MS)
    in_precision(made[0], "BFloat16", 40, 20)
    in_precision(made[1], "float", 100, 40)
    (cause,) = causes(*made[::way]).causes
    assert (cause.what, cause.share) == ("data_types", pytest.approx(1.0))
    now, before, t, t1 = (
        ("float", "BFloat16", "80.00 ms more", "+60.00 ms")
        if way > 0
        else ("BFloat16", "float", "80.00 ms less", "-60.00 ms")
    )
    assert (
        cause.text == f"2 operators now work on {now} instead of {before}: {t} in all; the largest is aten::mm ({t1})."
    )


def test_another_precision_is_told_beside_computation_of_which_it_is_most(tmp_path: Path) -> None:
    """Of one operator, whose name has colons; the kernels that took each other's place are more than the two named."""
    old, new = by_hand(tmp_path, "old", 200 * MS, free=100 * MS), by_hand(tmp_path, "new", 248 * MS, free=300 * MS)
    for store, kind, mm in ((old, "BFloat16", 40), (new, "float", 95)):
        for number in range(5):
            host: dict[str, Any] = {"host_op": "aten::mm", "shapes": f"{number},8", "input_dtypes": f"{kind};{kind}"}
            store.kernel(1, f"gemm{number}_{kind}", 4, mm * MS // 10, **host)
        for number in range(40):
            calls = 2 if number % 3 or store is old else 3
            time = 45 if store is old else 50 + number % 2 / 10
            shapes = "8,8" if number % 4 or store is old else "9,9"
            store.kernel(1, f"Q{number}", calls, int(time * MS) // 10, shapes=shapes, input_dtypes="INT64")
    told = [cause.text for cause in causes(old, new).causes if "Computation grew" in cause.text]
    assert [text.partition("; the largest is ")[2] for text in told] == [
        "gemm4_BFloat16 → gemm4_float + 8 more (+27.50 ms)"
        "; aten::mm now works on float instead of BFloat16 (+27.50 ms)."
    ]


@pytest.mark.parametrize("kinds", [("GenericList", "TensorList"), ("Scalar;float", "float")])
def test_what_is_no_tensor_has_no_data_type(tmp_path: Path, kinds: tuple[str, str]) -> None:
    old, new = by_hand(tmp_path, "old", 100 * MS), by_hand(tmp_path, "new", 180 * MS)
    for store, kind, time in ((old, kinds[0], 50), (new, kinds[1], 90)):
        for name in ("mm", "bmm"):
            store.kernel(1, f"{name}_{kind}", 4, time * MS, host_op=f"aten::{name}", input_dtypes=kind)
    assert "data_types" not in {cause.what for cause in causes(old, new).causes}


def test_a_kernel_whose_other_calls_made_up_for_those_of_other_types_is_not_told_as_these(tmp_path: Path) -> None:
    old, new = by_hand(tmp_path, "old", 100 * MS), by_hand(tmp_path, "new", 120 * MS)
    for store, kind, (mm, addmm, bmm) in ((old, "BFloat16", (40, 30, 30)), (new, "float", (20, 50, 50))):
        store.kernel(1, "gemm", 4, mm * MS, host_op="aten::mm", input_dtypes=kind, shapes="1,1")
        store.kernel(1, "gemm", 4, addmm * MS, host_op="aten::addmm", input_dtypes="float", shapes="2,2")
        store.kernel(1, f"bmm_{kind}", 4, bmm * MS, host_op="aten::bmm", input_dtypes=kind, shapes="3,3")
    assert "data_types" not in {cause.what for cause in causes(old, new).causes}


@pytest.mark.parametrize(("calls", "kind"), [(8, "float"), (4, "BFloat16")])
def test_other_calls_or_the_same_types_are_no_other_precision(tmp_path: Path, calls: int, kind: str) -> None:
    old, new = by_hand(tmp_path, "old", 100 * MS), by_hand(tmp_path, "new", 180 * MS)
    in_precision(old, "BFloat16", 40, 20)
    in_precision(new, kind, 100, 40, calls)
    assert not [cause for cause in causes(old, new).causes if cause.what == "data_types" and cause.row == "aten::mm"]


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("FLOAT16", "FLOAT", "MatMul with inputs 512,64 now works on FLOAT instead of FLOAT16: 5.00 ms more."),
        ("FLOAT16", None, "MatMul with inputs 512,64 takes 50 % longer per call for inputs of the same shapes, called 2"
         " times per step as before."),
    ],
)  # fmt: skip
def test_inputs_are_the_same_only_if_their_data_types_are(
    tmp_path: Path, before: str | None, after: str | None, text: str
) -> None:
    old, new = by_hand(tmp_path, "old", 40 * MS), by_hand(tmp_path, "new", 45 * MS)
    for made, slow, kind in ((old, 10, before), (new, 15, after)):
        made.kernel(1, "MatMul", 2, 30 * MS, shapes="64,64")
        made.kernel(1, "MatMul", 2, slow * MS, shapes="512,64", input_dtypes=kind)
    (cause,) = causes(old, new).causes
    assert cause.text == text


def test_what_came_is_netted_with_what_went(tmp_path: Path) -> None:
    """One fused kernel in each of 28 layers became three; one of them ran elsewhere before."""
    old, new = by_hand(tmp_path, "old", 100 * MS), by_hand(tmp_path, "new", 129 * MS)
    old.kernel(1, "FlashAttentionScore", 28, 28 * MS).kernel(1, "BatchMatMul", 4, 4 * MS).kernel(1, "Add", 9, 60 * MS)
    new.kernel(1, "BatchMatMul", 32, 32 * MS).kernel(1, "SoftmaxV2", 28, 29 * MS).kernel(1, "Add", 9, 60 * MS)
    (cause,) = causes(old, new).causes
    assert (cause.what, cause.share) == ("replaced", pytest.approx(1.0))
    assert cause.text == "FlashAttentionScore → SoftmaxV2 + BatchMatMul (4 → 32 calls): 29.00 ms more in all."


def test_kernels_of_one_framework_operator_replace_each_other(tmp_path: Path) -> None:
    old, new = by_hand(tmp_path, "old", 40 * MS), by_hand(tmp_path, "new", 30 * MS)
    old.kernel(1, "sgemm_64x64", 3, 40 * MS, host_op="aten::mm")
    new.kernel(1, "sgemm_128x128", 2, 30 * MS, host_op="aten::mm")
    (cause,) = causes(old, new).causes
    assert cause.text == "aten::mm: sgemm_64x64 → sgemm_128x128: 10.00 ms less in all."


def test_long_names_leave_room_for_the_time_and_can_be_told_apart(tmp_path: Path) -> None:
    """Four kernels of one call became five, whose names differ late and are far longer than a terminal."""
    old, new = by_hand(tmp_path, "old", 74 * MS), by_hand(tmp_path, "new", 65 * MS)
    templated = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::Functor{0}>{1}"
    for made, number, kind in ((old, 4, "Plain"), (new, 5, "Fused")):
        for place in range(number):
            name = templated.format(f"<std::array<float, 4>, {kind}, {place}, {'x' * 300}", "(int)" * 20)
            made.kernel(1, name, 3, (20 - place if kind == "Plain" else 15 - place) * MS, host_op="aten::_foreach")
    (cause,) = causes(old, new).causes
    assert len(cause.text) <= _CAUSE_LIMIT and cause.text.endswith(" ms less in all.")
    before, _, after = cause.text.partition(" → ")
    names = [*before.removeprefix("aten::_foreach: ").split(" + ")[:2], *after.split(" + ")[:2]]
    assert len(set(names)) == 4 and not any("native" in name for name in names)
    assert " + 2 more → " in cause.text and " + 3 more: " in cause.text


@pytest.mark.parametrize(("phase", "where"), [(None, ""), ("update_actor", " in update_actor")])
def test_the_pace_of_the_host_is_that_of_the_same_calls(tmp_path: Path, phase: str | None, where: str) -> None:
    """Not of operators with other calls, nor of those that wait for the device; other phases do not count in one."""
    made = [by_hand(tmp_path, name, 40 * MS, free=wait * MS) for name, wait in (("old", 60), ("new", 80))]
    for store, wait, own in zip(made, (60, 80), (10, 12), strict=True):
        for name in ("Add", "Cast", "Mul", "Sort", "Sum"):
            store.kernel(1, name, 1, 8 * MS, phase=phase, gap_ns=wait * MS // 5)
        in_it: dict[str, Any] = {"capture": 0, "step": 1, "phase": phase}
        for name in "abcde":
            store.add("r_operator", **in_it, name=f"aten::{name}", calls=8, host_self_ns=own * MS)
        store.add("r_operator", **in_it, name="aten::f", calls=own, host_self_ns=own * MS // 4)
        store.add("r_account", **in_it, device_id=0, kind="sync", subject="aten::item", pieces=1, ns=1)
        store.add("r_operator", **in_it, name="aten::item", calls=8, host_self_ns=(22 - own) * 9 * MS)
        if phase:
            store.add("r_operator", **{**in_it, "phase": "reward"}, name="aten::a", calls=own, host_self_ns=90 * MS)
    (cause,) = causes(*made).causes
    assert cause.text == (
        f"The host takes 20 % longer for the same calls{where}, as on a busier CPU:"
        " the time the device waits for it grew by 20.00 ms per step."
    )


def test_a_phase_of_the_profile_is_compared_with_the_whole_phase_of_the_log(tmp_path: Path) -> None:
    """Generation takes 110 ms more in the profile, and 90 by its timer, of which no part grew by half of that."""

    def made(name: str, compute: int, *seconds: float, rest: float) -> RollupStore:
        store = by_hand(tmp_path, name, compute).kernel(1, "Sort", 1, compute, phase="generate_sequences")
        for step in range(2, 10):
            inner = dict(zip(("timing_s/reshard", "timing_s/generate_sequences"), seconds, strict=True))
            values = {name: sum(seconds) + rest for name in ("timing_s/step", "timing_s/gen")} | inner
            for metric, value in values.items():
                store.add("metric", step=step, name=metric, value=value, source="file", profiled=False)
        return store

    diff = causes(made("old", 150 * MS, 0.05, 0.05, rest=0.05), made("new", 260 * MS, 0.094, 0.073, rest=0.073))
    assert [cause.row for cause in diff.causes][:1] == ["Sort"]
    assert "of the profiled step" in diff.causes[0].text
