"""Training's own timers against steps that are put together by hand: which of them are parts of the step."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlcompare.compare import RunStore, SideInput
from rlcompare.gate import judge
from rlcompare.model.diff import Diff
from rlcompare.model.digits import grouped
from rlcompare.model.verdict import Policy, Rule
from rlcompare.model.words import EvidenceMode
from rlcompare.report.terminal import summary_lines
from rlcompare.report.view import build_view
from tests.sql.rollup_stores import RollupStore, compared, found

SAVE, TEST = 30.0, 12.0


def logged(
    path: Path, *, saves: bool = True, saved_inside: bool = True, tested_inside: bool = False, rest: float = 0.25
) -> Path:
    """Eight steps of 30 s and what lies in no timer; every fourth saves and tests, in the step or after it."""
    store = RollupStore(path)
    for step in range(1, 9):
        parts = {"gen": 20.0, "update_actor": 10.0}
        after = {"save_checkpoint": SAVE, "testing": TEST} if saves and step % 4 == 0 else {}
        inside = {"save_checkpoint": saved_inside, "testing": tested_inside}
        whole = sum(parts.values()) + rest + sum(value for name, value in after.items() if inside[name])
        for name, value in {**parts, **after, "step": whole}.items():
            store.add("metric", step=step, name=f"timing_s/{name}", value=value, source="file", profiled=False)
    return store.done()


def plain(path: Path, first: int, last: int, **profiled: float) -> Path:
    """Steps of 30 s by number, of which ``profiled`` names some."""
    store = RollupStore(path)
    for step in range(first, last + 1):
        store.add("metric", step=step, name="timing_s/step", value=30.0, source="file", profiled=str(step) in profiled)
    return store.done()


def phases(diff: Diff) -> dict[str, object]:
    return {str(row["name"]): row["new"] for row in diff.sections["phases"].rows}


@pytest.mark.parametrize(
    ("release", "saved_inside", "tested_inside"),
    [("0.5.0", True, True), ("0.6.1", False, False), ("0.7.1", True, False)],
)
def test_what_lies_in_the_step_is_a_phase_of_it(
    tmp_path: Path, release: str, saved_inside: bool, tested_inside: bool
) -> None:
    """As verl's ray_trainer.py of that release times them; 2 of the 7 steps after the first save and test."""
    path = logged(tmp_path / "new.duckdb", saved_inside=saved_inside, tested_inside=tested_inside)
    named = phases(compared(path, path))
    assert named.get("save_checkpoint") == (pytest.approx(SAVE * 2 / 7 * 1e3) if saved_inside else None)
    assert named.get("testing") == (pytest.approx(TEST * 2 / 7 * 1e3) if tested_inside else None)
    assert named["(outside)"] == pytest.approx(250.0)


def test_a_job_that_saves_is_slower_by_its_checkpoints(tmp_path: Path) -> None:
    new, old = logged(tmp_path / "new.duckdb"), logged(tmp_path / "old.duckdb", saves=False)
    cause = compared(old, new).causes[0]
    assert (cause.what, cause.row, cause.share) == ("phase", "save_checkpoint", pytest.approx(1.0))
    assert cause.text.endswith("per step, in 2 of 7 steps, before in 0 of 7.")


def test_a_run_that_does_not_save_counts_0_in_the_mean_of_runs(tmp_path: Path) -> None:
    paths = [logged(tmp_path / f"{saves}.duckdb", saves=saves) for saves in (True, False)]
    side = SideInput("both", tuple(RunStore(path.stem, str(path), path) for path in paths))
    diff = compared(side, side)
    mean = pytest.approx(SAVE * 2 / 7 * 1e3 / 2)
    assert found(diff, "phases", "save_checkpoint")["new"] == mean
    metric = diff.metric("phase.save_checkpoint.wall")
    assert metric is not None and metric.new == mean


def test_what_adding_leaves_of_a_step_is_nought(tmp_path: Path) -> None:
    """Timers that fill the step: what binary fractions leave over is no time outside of them."""
    diff = compared(logged(tmp_path / "old.duckdb", rest=1e-9), logged(tmp_path / "new.duckdb", rest=3e-9))
    row = found(diff, "phases", "(outside)")
    assert (row["baseline"], row["new"], row["delta"], row["ratio"]) == (0.0, 0.0, 0.0, None)


@pytest.mark.slow
def test_timers_that_overlap_leave_no_negative_time(tmp_path: Path) -> None:
    """30 s of timers in a step of 21 s, and in one of 30.25 s: the step grew, and no timer did."""
    old, new = logged(tmp_path / "old.duckdb", saves=False, rest=-9.0), logged(tmp_path / "new.duckdb", saves=False)
    diff = compared(old, new)
    before = {row["name"]: row["baseline"] for row in diff.sections["phases"].rows}
    assert before == {"generate_sequences": 20_000.0, "update_actor": 10_000.0, "(outside)": 0.0}
    assert found(diff, "phases", "(outside)")["new"] == pytest.approx(250.0)
    (said,) = [finding.message for finding in diff.quality if finding.key == "timers_overlap"]
    assert said.startswith("Baseline: its timers overlap: the phases take 9.00 s more than timing_s/step (21.00 s)")
    assert not [cause for cause in diff.causes if cause.row == "(outside)"]
    # An overlap of 1 % is one, too: the phases do not add up to the step. Rounding in logs is not.
    old = logged(tmp_path / "little.duckdb", saves=False, rest=-0.3)
    (little,) = [finding for finding in compared(old, new).quality if finding.key == "timers_overlap"]
    assert (little.severity, "take 0.30 s more than" in little.message) == ("info", True)
    assert any("unknown: training's timers overlap" in line for line in summary_lines(build_view(compared(old, new))))
    old = logged(tmp_path / "rounded.duckdb", saves=False, rest=-0.01)
    assert "timers_overlap" not in {finding.key for finding in compared(old, new).quality}


@pytest.mark.parametrize(("rest", "has_ratio"), [(1e-5, False), (0.3, True)])
def test_a_remainder_of_next_to_nothing_has_no_ratio(tmp_path: Path, rest: float, has_ratio: bool) -> None:
    """10 us of 30 s outside of all timers, which halved, are no improvement by 50 %; 0.3 s are."""
    old, new = logged(tmp_path / "old.duckdb", rest=rest), logged(tmp_path / "new.duckdb", rest=rest / 2)
    diff = compared(old, new)
    delta = diff.metric("phase.(outside).wall")
    assert delta is not None
    for ratio in (delta.ratio, found(diff, "phases", "(outside)")["ratio"]):
        assert ratio == (pytest.approx(0.5) if has_ratio else None)


def test_steps_that_do_not_count_are_said(tmp_path: Path) -> None:
    """Of 1 to 20, the first is warm-up, 7 ran under a profiler, and the other side ends with 9."""
    long = plain(tmp_path / "old.duckdb", 1, 20, **{"7": 1})
    diff = compared(long, plain(tmp_path / "new.duckdb", 1, 9))
    said = [finding.message for finding in diff.quality if finding.key == "steps_left_out"]
    assert said == [
        "Baseline: training times are means over 7 of 20 steps; left out: 1 warm-up, 1 profiled,"
        " 11 that other runs lack or do not count.",
        "New side: training times are means over 7 of 9 steps; left out: 1 warm-up,"
        " 1 that other runs lack or do not count.",
    ]
    assert not [finding for finding in compared(long, long).quality if "other side" in finding.message]


def test_as_many_other_steps_are_named_by_their_numbers(tmp_path: Path) -> None:
    diff = compared(plain(tmp_path / "old.duckdb", 1, 20), plain(tmp_path / "new.duckdb", 101, 120))
    (finding,) = (finding for finding in diff.comparability.findings if finding.key == "training_steps")
    assert (finding.baseline, finding.new, finding.severity) == ("1–20", "101–120", "caution")


@pytest.mark.parametrize(("slowest", "apart"), [(40.0, False), (300.0, True)])
def test_runs_that_are_far_apart_are_said(tmp_path: Path, slowest: float, apart: bool) -> None:
    """The mean of 30 s and 300 s is no time that anything took."""
    stores = []
    for number, seconds in enumerate((30.0, slowest)):
        store = RollupStore(tmp_path / f"{number}.duckdb")
        for step in (1, 2):
            store.add("metric", step=step, name="timing_s/step", value=seconds, source="file", profiled=False)
        stores.append(RunStore(str(number), str(number), store.done()))
    diff = compared(SideInput("old", tuple(stores)), stores[0].store)
    said = [finding.message for finding in diff.quality if finding.key == "runs_apart"]
    assert len(said) == apart
    assert not apart or "its 2 runs differ widely (timing_s/step from 30 s to 300 s)" in said[0]


OTHER_TRAINERS = {
    "slime": (
        {"perf/step_time": 30.0, "perf/train_wait_time": 18.0, "perf/train_time": 12.0, "perf/rollout_time": 17.0,
         "perf/log_probs_time": 3.0, "perf/actor_train_time": 8.0, "perf/update_weights_time": 0.5},
        {"wait_for_samples": 18.0, "old_log_prob": 3.0, "update_actor": 8.0, "(outside)": 1.0},
    ),
    "NeMo-RL": (
        {"timing/train/total_step_time": 30.0, "timing/train/generation": 15.0, "timing/train/policy_training": 8.0,
         "timing/train/policy_and_reference_logprobs": 4.0, "timing/train/prepare_for_generation/total": 2.0,
         "timing/train/prepare_for_generation/transfer_and_update_weights": 1.5},
        {"generate_sequences": 15.0, "update_actor": 8.0, "log_probs": 4.0, "update_weights": 2.0, "(outside)": 1.0},
    ),
    "MindSpeed-RL": (
        {"timing/all": 30.0, "timing/rollout": 15.0, "timing/old_log_p": 3.0, "timing/reference_model": 3.0,
         "timing/update": 7.0, "timing/resharding_to_infer": 1.0, "timing/adv": 5.0, "timing/non_overlap_adv": 0.1},
        {"generate_sequences": 15.0, "old_log_prob": 3.0, "ref_log_prob": 3.0, "update_actor": 7.0,
         "resharding_to_infer": 1.0, "(outside)": 1.0},
    ),
}  # fmt: skip


@pytest.mark.parametrize("trainer", OTHER_TRAINERS)
def test_phases_of_other_trainers_sum_to_their_step(tmp_path: Path, trainer: str) -> None:
    """Timers inside timers, and what runs beside the step, are no phases."""
    logged_names, expected = OTHER_TRAINERS[trainer]
    store = RollupStore(tmp_path / "new.duckdb")
    for step in range(1, 7):
        for name, value in logged_names.items():
            store.add("metric", step=step, name=name, value=value, source="file", profiled=False)
    path = store.done()
    diff = compared(path, path)
    assert diff.headline == "timing_s/step"
    assert phases(diff) == {name: pytest.approx(1e3 * seconds) for name, seconds in expected.items()}


def test_one_name_of_two_trainers_has_the_meaning_of_each(tmp_path: Path) -> None:
    """MindSpeed-RL's timing/adv runs beside the rollout; that of the first releases of verl is part of the step."""
    paths = []
    for name, others in (("verl", {"gen": 20.0, "update_actor": 9.0}), ("mindspeed", {"all": 30.0, "rollout": 20.0})):
        store = RollupStore(tmp_path / f"{name}.duckdb")
        for step in range(1, 7):
            for timer, value in {**others, "adv": 1.0}.items():
                store.add("metric", step=step, name=f"timing/{timer}", value=value, source="file", profiled=False)
        paths.append(store.done())
    diff = compared(*paths)
    rows = {row["name"]: (row["baseline"], row["new"]) for row in diff.sections["metrics"].rows}
    assert rows["timing_s/step"] == (pytest.approx(30.0), pytest.approx(30.0))
    assert rows["timing_s/adv"] == (pytest.approx(1.0), None)
    assert rows["timing/adv"] == (None, pytest.approx(1.0))


@pytest.mark.parametrize(
    ("update", "wait", "row", "seconds"), [(8.0, 0.0, "update_actor", 8.0), (5.0, -2.0, "update_actor", 3.0),
                                           (-1.0, 6.0, "wait_for_samples", 5.0)],
)  # fmt: skip
def test_waiting_hides_only_what_it_makes_up_for(
    tmp_path: Path, update: float, wait: float, row: str, seconds: float
) -> None:
    """A trainer that waits as long as before is no less slow, even if slime's waiting holds the rollout itself."""
    paths = []
    for name, longer in (("old", 0.0), ("new", 1.0)):
        store = RollupStore(tmp_path / f"{name}.duckdb")
        parts = {"perf/train_wait_time": 18.0 + longer * wait, "perf/actor_train_time": 11.0 + longer * update}
        for step in range(1, 9):
            for timer, value in {**parts, "perf/step_time": sum(parts.values()) + 1.0}.items():
                store.add("metric", step=step, name=timer, value=value, source="file", profiled=False)
        paths.append(store.done())
    cause = compared(*paths).causes[0]
    assert (cause.row, cause.delta_ms) == (row, pytest.approx(1e3 * seconds))
    left = {
        (5.0, -2.0): "2.00 s offset by less waiting for samples",
        (-1.0, 6.0): "1.00 s offset by other phases",
    }
    says = f", not counting {left.get((update, wait))}"
    assert (says in cause.text) == ("not counting" in cause.text) == ((update, wait) in left)


def test_a_log_without_a_time_of_the_step_has_the_sum_of_its_timers(tmp_path: Path) -> None:
    def early(name: str, update: float) -> Path:
        store = RollupStore(tmp_path / name)
        for step in range(1, 9):
            values = {"gen": 20.0, "update_actor": update, "adv": 0.1, **({"testing": TEST} if step == 4 else {})}
            for timer, value in values.items():
                shown = None if (step, timer) == (6, "gen") else value
                store.add("metric", step=step, name=f"timing/{timer}", value=shown, source="file", profiled=False)
        return store.done()

    old, new = early("old.duckdb", 10.0), early("new.duckdb", 16.0)
    diff = compared(old, new)
    (headline,) = [delta for delta in diff.overall if delta.metric == diff.headline]
    whole = 30.1 + TEST / 6  # over the steps 2 to 8 without 6
    assert headline.metric == "timing_s/step"
    assert (headline.baseline, headline.new) == (pytest.approx(whole), pytest.approx(whole + 6))
    (cause,) = diff.causes
    assert "update_actor" in cause.text
    assert phases(diff)["adv"] == pytest.approx(100.0)
    mixed = compared(old, logged(tmp_path / "later.duckdb"))
    assert [found.severity for found in diff.quality if found.key == "summed_timers"] == ["info", "info"]
    assert [found.severity for found in mixed.quality if found.key == "summed_timers"] == ["caution"]


def test_what_a_sum_of_timers_does_not_time_is_unknown(tmp_path: Path) -> None:
    """verl's first releases did not time rewards and checkpoints. They took time, which is in no log."""
    old, new = RollupStore(tmp_path / "old.duckdb"), RollupStore(tmp_path / "new.duckdb")
    for step in range(1, 9):
        for timer, value in {"gen": 20.0, "update_actor": 10.0}.items():
            old.add("metric", step=step, name=f"timing/{timer}", value=value, source="file", profiled=False)
        for timer, value in {"gen": 20.0, "update_actor": 16.0, "old_log_prob": 5.0, "step": 42.0}.items():
            new.add("metric", step=step, name=f"timing_s/{timer}", value=value, source="file", profiled=False)
    diff = compared(old.done(), new.done())
    rows = {row["name"]: (row["baseline"], row["new"], row["delta"]) for row in diff.sections["phases"].rows}
    assert rows["old_log_prob"] == (None, pytest.approx(5000.0), None)
    assert rows["(outside)"] == (None, pytest.approx(1000.0), None)
    assert rows["update_actor"] == (pytest.approx(10000.0), pytest.approx(16000.0), pytest.approx(6000.0))
    limits = Policy("test", (Rule("phase.*.wall", max_relative=0.1, max_absolute=1.0),), evidence=EvidenceMode.LIMITS)
    statuses = {verdict.metric: verdict.status for verdict in judge(diff, limits).verdicts}
    assert statuses["phase.old_log_prob.wall"] == "missing"
    assert statuses["phase.update_actor.wall"] == "regressed"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        ({9: 900.0}, "step 9 takes 900.0 s, the others 30.0 s."),
        ({5: 200.0, 9: 300.0}, "was the machine busy with something else?"),
    ],
)
def test_a_step_that_hung_is_named(tmp_path: Path, seconds: dict[int, float], words: str) -> None:
    """Not the first, which is warm-up."""
    store = RollupStore(tmp_path / "new.duckdb")
    for step in range(1, 13):
        value = seconds.get(step, 2000.0 if step == 1 else 30.0)
        store.add("metric", step=step, name="timing_s/step", value=value, source="file", profiled=False)
    diff = compared(plain(tmp_path / "old.duckdb", 1, 12), store.done())
    (said,) = [finding.message for finding in diff.quality if finding.key == "uneven_times"]
    assert said.endswith(f"so its mean is unreliable: {words}")


@pytest.mark.parametrize("longer", [0.0, 600.0])
def test_what_a_step_with_an_unusable_timer_leaves_is_not_outside_of_all_timers(tmp_path: Path, longer: float) -> None:
    """Nobody knows where a step that hung spent its time if one of its timers is NaN."""
    paths = []
    for name, lost in (("old", 0), ("new", 6)):
        store = RollupStore(tmp_path / f"{name}.duckdb")
        for step in range(1, 13):
            more = longer if step == lost else 0.0
            timers = {"gen": None if step == lost else 20.0 + step, "update_actor": 8.0, "step": 28.5 + step + more}
            for timer, value in timers.items():
                store.add("metric", step=step, name=f"timing_s/{timer}", value=value, source="file", profiled=False)
        paths.append(store.done())
    diff = compared(*paths)
    outside = found(diff, "phases", "(outside)")
    assert (outside["baseline"], outside["new"]) == (pytest.approx(500.0), pytest.approx(500.0))
    assert [cause.row for cause in diff.causes if cause.row == "(outside)"] == []


def test_a_run_of_which_each_step_lacks_a_timer_has_no_phases(tmp_path: Path) -> None:
    store = RollupStore(tmp_path / "new.duckdb")
    for step in range(1, 9):
        timers = {"gen": None if step % 2 else 20.0, "update_actor": 8.0 if step % 2 else None, "step": 30.0}
        for timer, value in timers.items():
            store.add("metric", step=step, name=f"timing_s/{timer}", value=value, source="file", profiled=False)
    path = store.done()
    assert phases(compared(path, path)) == {}


@pytest.mark.parametrize(
    ("plain", "profiled", "expected"),
    [
        ((10.0, 11.0), (14.0, 14.5), []),
        ((10.0, 11.0), (16.0, 16.4), ["slow_profile"]),
        ((10.0, 11.0), (30.0, 16.0), ["opposite_profile", "slow_profile"]),
        ((10.0, 10.2), (13.0, 12.0), []),  # as two runs of one setting differ
    ],
)
def test_profiled_steps_that_tell_another_time_than_plain_ones_are_said(
    tmp_path: Path, plain: tuple[float, float], profiled: tuple[float, float], expected: list[str]
) -> None:
    """Step 5 ran under the profiler; training timed all steps."""
    stores = []
    for name, normal, slow in zip(("old", "new"), plain, profiled, strict=True):
        store = RollupStore(tmp_path / f"{name}.duckdb").capture().step(5, wall=int(slow * 1e9))
        store.time(5, int(slow * 1e9), step_ns=int(slow * 1e9)).kernel(5, "MatMul", 2, int(slow * 1e9))
        for step in range(1, 6):
            value = slow if step == 5 else normal
            store.add("metric", step=step, name="timing_s/step", value=value, source="file", profiled=step == 5)
        stores.append(store.done())

    quality = compared(*stores).quality

    told = {finding.key: finding.message for finding in quality if finding.key.endswith("_profile")}
    assert list(told) == expected
    if "slow_profile" in told:
        times = grouped(profiled[0] / plain[0], 1)
        assert told["slow_profile"].startswith(
            f"Baseline: a profiled step takes {times} times as long as a plain one ("
        )
    if "opposite_profile" in told:
        assert told["opposite_profile"] == (
            "time.step of the profiled steps shrank by 14.00 s, although timing_s/step of the plain ones grew by"
            " 1.00 s: the profile does not show this change."
        )


def test_without_plain_steps_no_profile_tells_the_opposite_of_them(tmp_path: Path) -> None:
    stores = []
    for name, timed, profiled in (("old", 20.0, 10.0), ("new", 10.0, 20.0)):
        wall = int(profiled * 1e9)
        store = RollupStore(tmp_path / f"{name}.duckdb").capture().step(5, wall=wall).time(5, wall, step_ns=wall)
        store.kernel(5, "MatMul", 2, wall)
        for step in range(1, 6):
            store.add("metric", step=step, name="timing_s/step", value=timed, source="file", profiled=True)
        stores.append(store.done())

    diff = compared(*stores)

    assert diff.headline == "timing_s/step"
    assert "opposite_profile" not in {finding.key for finding in diff.quality}
