"""What a training log tells of its timers: regressions against NumPy-free references, and each reason in one log."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from math import sqrt
from pathlib import Path
from statistics import correlation, fmean, linear_regression, stdev, variance
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from rlcompare import resources
from rlcompare.compare.evidence import Evidence
from rlcompare.compare.log_tells import settings, settings_of
from rlcompare.compare.parts import TIMER, Part
from rlcompare.compare.records import TimerDriver, TimerPart, TrainingPhase
from rlcompare.compare.timers import MS_PER_S, Driver, InnerTimer, netted, training_log
from rlcompare.compare.training import rare_phases
from rlcompare.model.diff import Cause, Diff, Section
from rlcompare.model.words import SIDES
from tests.sql.rollup_stores import compared
from tests.sql.test_compare_limits import logged

Steps = Sequence[dict[str, float]]
STEPS = 40


def covariance(first: Sequence[float], second: Sequence[float]) -> float:
    means = sum(first) / len(first), sum(second) / len(second)
    products = ((a - means[0]) * (b - means[1]) for a, b in zip(first, second, strict=True))
    return sum(products) / (len(first) - 1)


def driver_rows(timer: Sequence[float], first: Sequence[float], second: Sequence[float] | None) -> list[TimerDriver]:
    """The same steps on both sides."""
    other = second if second is not None else first
    return [
        TimerDriver(
            side, 0, 1, "timing_s/gen", "response_length/max", None if second is None else "response_length/mean",
            len(timer), sum(timer) / len(timer), sum(first) / len(first),
            None if second is None else sum(other) / len(other),
            variance(timer), variance(first), None if second is None else variance(other), covariance(timer, first),
            None if second is None else covariance(timer, other), None if second is None else covariance(first, other),
        )
        for side in SIDES
    ]  # fmt: skip


def drivers_of(rows: Sequence[TimerDriver]) -> Sequence[Driver]:
    return training_log([], [], [], rows, [], [], [], [], [], []).drivers["timing_s/gen"]


def test_a_slope_is_that_of_a_linear_regression() -> None:
    chance = random.Random(1)
    lengths = [chance.uniform(1000, 3000) for _ in range(STEPS)]
    times = [5.0 + 0.01 * length + chance.gauss(0, 0.5) for length in lengths]
    (driver,) = drivers_of(driver_rows(times, lengths, None))
    assert driver.slope == pytest.approx(linear_regression(lengths, times).slope * MS_PER_S)


def test_two_slopes_are_found_apart() -> None:
    chance = random.Random(2)
    longest = [chance.uniform(1000, 3000) for _ in range(STEPS)]
    means = [0.1 * length + chance.uniform(300, 700) for length in longest]
    times = [1.0 + 0.01 * a + 0.02 * b for a, b in zip(longest, means, strict=True)]
    found = drivers_of(driver_rows(times, longest, means))
    assert [driver.slope for driver in found] == [pytest.approx(10.0), pytest.approx(20.0)]


def test_two_slopes_follow_no_more_than_all_of_the_timer() -> None:
    """No time is left below 0 where lengths are 0, though a line through these steps would end there."""
    chance = random.Random(2)
    longest = [chance.uniform(1000, 3000) for _ in range(STEPS)]
    means = [0.1 * length + chance.uniform(300, 700) for length in longest]
    times = [0.01 * a + 0.02 * b - 10.0 for a, b in zip(longest, means, strict=True)]
    found = drivers_of(driver_rows(times, longest, means))
    followed = [(driver.slope or 0.0) * sum(of) / STEPS for driver, of in zip(found, (longest, means), strict=True)]
    assert sum(followed) == pytest.approx(sum(times) / STEPS * MS_PER_S)


@pytest.mark.parametrize(("spread", "noise"), [(0.0, 0.1), (10.0, 2.0)])
def test_steps_that_hardly_differ_tell_no_slope(spread: float, noise: float) -> None:
    chance = random.Random(3)
    lengths = [2000.0 + chance.uniform(-spread, spread) for _ in range(STEPS)]
    times = [20.0 + chance.gauss(0, noise) for _ in lengths]
    assert [driver.slope for driver in drivers_of(driver_rows(times, lengths, None))] == [None]


@pytest.mark.parametrize(("rise", "first"), [(0.0, 1), (0.05, 1), (0.05, -(10**15))])
def test_the_error_of_a_mean_counts_independent_steps(rise: float, first: int) -> None:
    """What the values rise by over the steps is no error, whatever the number of the first step."""
    chance = random.Random(4)
    values = [10.0]
    for _ in range(199):
        values.append(4.0 + 0.6 * values[-1] + chance.gauss(0, 0.5))
    with duckdb.connect() as connection:
        connection.execute("CREATE TYPE metric_name AS ENUM ('timing_s/gen')")
        columns = "side VARCHAR, run INTEGER, name metric_name, step BIGINT, value DOUBLE"
        connection.execute(f"CREATE TABLE c_judged({columns})")
        rows = [("new", 0, "timing_s/gen", first + i, value + rise * i) for i, value in enumerate(values)]
        connection.executemany("INSERT INTO c_judged VALUES (?, ?, ?, ?, ?)", rows)
        connection.execute("CREATE TABLE c_metric_name AS SELECT 'timing_s/gen' AS name")
        connection.execute("CREATE TABLE c_metric_entry AS FROM c_metric_name")
        connection.execute(resources.sql("compare/macro"))
        (found,) = connection.execute(resources.sql("compare/timer_noise")).fetchall()
    line = linear_regression(range(200), values)
    left = [value - line.slope * i for i, value in enumerate(values)]
    again = correlation(left[1:], left[:-1])
    assert 0.4 < again < 0.8
    deviation = stdev(left) * sqrt(199 / 198)
    assert found[-1] == pytest.approx(deviation / sqrt(200) * sqrt((1 + again) / (1 - again)))


def test_changes_inside_a_phase_that_make_up_for_each_other_count_once() -> None:
    timers = {"tools": (2.0, 8.0), "generation": (20.0, 17.0), "rest": (1.0, 1.5)}
    inner = [InnerTimer(name, name, *sides) for name, sides in timers.items()]
    assert [timer.new - timer.baseline for timer in netted(inner)] == [
        pytest.approx(6.0 * 3.5 / 6.5), 0.0, pytest.approx(0.5 * 3.5 / 6.5),
    ]  # fmt: skip


def test_a_phase_is_divided_only_as_both_sides_divide_it() -> None:
    def part(side: str, way: int, name: str) -> TimerPart:
        return TimerPart(side, 0, way, "generate_sequences", name, name, 1e9)  # type: ignore[arg-type]

    def phase(side: str, run: int) -> TrainingPhase:
        return TrainingPhase(side, run, None, "generate_sequences", "timing_s/gen", 2e9, 0.0, 3e9, 4, 4)  # type: ignore[arg-type]

    both, phases = [part(side, 2, "generation itself") for side in SIDES], [phase(side, 0) for side in SIDES]
    log = training_log(phases, [*both, part("new", 1, "tools")], [], [], [], [], [], [], [], [])
    assert [timer.part for timer in log.inner["generate_sequences"]] == ["generation itself"]
    # Another run of the phase, which is not divided: the parts would not sum to its mean.
    assert training_log([*phases, phase("new", 1)], both, [], [], [], [], [], [], [], []).inner == {}


def test_a_phase_that_one_side_alone_can_have_is_not_rare() -> None:
    found = TrainingPhase("new", 0, None, "update_actor", "timing_s/update_actor", 2e9, 0.0, 3e9, 4, 19)
    assert rare_phases([found]) == {}
    assert rare_phases([found, found._replace(side="baseline", steps=19)])["update_actor"].had["new"] == 4


@pytest.mark.parametrize(
    ("name", "told"), [("n", True), ("name", False), ("nnodes", False), ("log_prob_micro_batch_size", False)]
)
def test_a_setting_is_not_taken_for_one_that_its_name_begins_like(name: str, told: bool) -> None:
    row = {"name": f"actor_rollout_ref.rollout.{name}", "baseline": "4", "new": "8"}
    evidence: Any = SimpleNamespace(sections={"env": SimpleNamespace(rows=[row])})
    part = Part(TIMER, "update_actor", "update_actor", 10.0, 13.0)
    assert bool(settings(evidence, settings_of(part), part.delta)) is told


def job(seed: int, change: Callable[[dict[str, float]], None] = lambda step: None) -> Steps:
    """Steps of 40 s: generation follows the longest response, an update the tokens of the busiest rank."""
    chance = random.Random(seed)
    steps = []
    for _ in range(STEPS):
        mean = 500 * chance.gauss(1, 0.02)
        step = {
            "response_length/mean": mean, "response_length/max": 2000 * chance.gauss(1, 0.05),
            "prompt_length/mean": 200.0, "perf/mfu/actor": 0.4 * chance.gauss(1, 0.01), "imbalance": 1.02,
            "timing_s/agent_loop/num_preempted/mean": chance.uniform(0.0, 0.2), "per_token": 10.0, "per_update": 1e-3,
            "timing_s/reward": chance.gauss(1.0, 0.02), "outside": 0.5,
        }  # fmt: skip
        change(step)
        tokens = 1000 * (step["response_length/mean"] + step["prompt_length/mean"])
        step["perf/total_num_tokens"], step["global_seqlen/mean"] = tokens, tokens / 64
        step["global_seqlen/balanced_max"] = tokens / 64 * step.pop("imbalance") * chance.gauss(1, 0.002)
        decode = step["response_length/max"] * step.pop("per_token") / 1e3
        step["timing_s/gen"] = (2.0 + decode) * chance.gauss(1, 0.01)
        update = step["global_seqlen/balanced_max"] * step.pop("per_update")
        step["timing_s/update_actor"] = update * chance.gauss(1, 0.01)
        timers = ("timing_s/gen", "timing_s/update_actor", "timing_s/reward")
        step["timing_s/step"] = sum(step[name] for name in timers) + step.pop("outside")
        steps.append(step)
    return steps


def changed(**factors: float) -> Callable[[dict[str, float]], None]:
    def change(step: dict[str, float]) -> None:
        for name, factor in factors.items():
            step[name.replace("__", "/")] *= factor

    return change


def preempted(step: dict[str, float]) -> None:
    step["timing_s/agent_loop/num_preempted/mean"] += 4
    step["per_token"] *= 1.3


def slower_update(step: dict[str, float]) -> None:
    step["perf/mfu/actor"] /= 1.6
    step["per_update"] *= 1.6


def own_timers(step: dict[str, float]) -> None:
    step["timing_s/mine"], step["timing_s/mine_too"] = 4.0, 1.0
    step["outside"] += 4


@pytest.mark.parametrize(
    ("long", "where"),
    [
        ([30], "step 30 "),
        ([2, 3, 4, 5], "the steps up to 5 "),
        (range(STEPS - 3, STEPS + 1), f"the steps from {STEPS - 3} on "),
        ([20, 21, 22], "the steps from 20 to 22 "),
        (range(7, STEPS, 7), "one step of every 7 "),
        (range(4, STEPS + 1, 4), "one step of every 4 "),
        ([11, 30, 34], f"3 of {STEPS - 1} steps "),
        ([3, 5, 6, 11, 12, 13, 22, 31, 34, 40], f"10 of {STEPS - 1} steps "),
    ],
)
@pytest.mark.parametrize("is_new", [True, False])
def test_a_few_long_steps_are_named(tmp_path: Path, long: Sequence[int], where: str, is_new: bool) -> None:
    """They make the mean of the others no less certain."""
    seconds = 600 / len(long)
    steps = longer(job(2), "timing_s/reward", seconds, long)
    paths = [logged(tmp_path / f"{name}.duckdb", *made) for name, made in (("old", job(1)), ("new", steps))]
    diff = compared(*(paths if is_new else reversed(paths)))
    takes, on = ("takes", "") if is_new else ("took", "of the baseline ")
    text = diff.causes[0].text
    found = re.search(rf", as it {takes} ([\d.]+) s in {where}{on}and (0.99|1.0)\d* s in the others", text)
    assert found is not None, text
    assert float(found[1]) == pytest.approx(seconds + 1, abs=0.1)
    assert diff.causes[0].share == pytest.approx(1, abs=0.1)


def longer(steps: Steps, timer: str, seconds: float, numbers: Sequence[int]) -> Steps:
    for number in numbers:
        for name in (timer, "timing_s/step"):
            steps[number - 1][name] += seconds
    return steps


@pytest.mark.parametrize("steps", [STEPS, STEPS - 1])
def test_where_all_steps_would_be_long_none_is(tmp_path: Path, steps: int) -> None:
    """The median of an even number of them is 0: half of the smallest number is."""
    tiny = [step | {"timing_s/reward": 5e-324} for step in job(2)[:steps]]
    paths = [logged(tmp_path / f"{name}.duckdb", *made) for name, made in (("old", job(1)), ("new", tiny))]
    assert not any("in the others" in cause.text for cause in compared(*paths).causes)


def test_long_steps_of_both_sides_are_no_cause(tmp_path: Path) -> None:
    """Step 17 of both takes a minute more; only updates changed."""
    sides = job(1), job(3, slower_update)
    paths = [
        logged(tmp_path / f"{number}.duckdb", *longer(steps, "timing_s/reward", 60, [17]))
        for number, steps in enumerate(sides)
    ]
    (cause,) = compared(*paths).causes
    assert "update_actor" in cause.text and "in the others" not in cause.text


@pytest.mark.parametrize("both", [[10, 20, 30, 40], [9, 17, 36], [30, 31]])
def test_only_the_step_that_hung_is_named(tmp_path: Path, both: Sequence[int]) -> None:
    """Other steps are long on both sides."""
    old, new = (longer(job(seed), "timing_s/reward", 3, both) for seed in (1, 2))
    paths = [
        logged(tmp_path / "old.duckdb", *old),
        logged(tmp_path / "new.duckdb", *longer(new, "timing_s/reward", 600, [33])),
    ]
    assert ", as it takes 601.0 s in step 33 and 1." in compared(*paths).causes[0].text


@pytest.mark.parametrize(
    ("often", "seldom", "where"),
    [
        (5, 10, "nearly all of it in one step of every 10."),
        (4, 10, f"nearly all of it in 6 of {STEPS - 1} steps."),
        (5, 13, "in one step of every 5 and 0.999 s in the others."),
    ],
)
def test_long_steps_that_the_other_side_has_too(tmp_path: Path, often: int, seldom: int, where: str) -> None:
    """Every fifth step is long, or every fourth; on the baseline every tenth is, or every thirteenth."""
    paths = [
        logged(tmp_path / f"{seed}.duckdb", *longer(job(seed), "timing_s/reward", 30, range(every, STEPS + 1, every)))
        for seed, every in ((1, seldom), (2, often))
    ]
    assert compared(*paths).causes[0].text.endswith(where)


def test_steps_that_only_one_side_logged_follow_the_long_ones(tmp_path: Path) -> None:
    """The long steps are the last ones that both sides have, and not the last of their log."""
    new = longer(job(2), "timing_s/reward", 100, range(27, 31))
    paths = [logged(tmp_path / "old.duckdb", *job(1)[:30]), logged(tmp_path / "new.duckdb", *new)]
    assert "in the steps from 27 to 30 and" in compared(*paths).causes[0].text


def test_a_step_with_more_work_is_no_hang(tmp_path: Path) -> None:
    """Generation takes longer in one step, as its responses are longer there."""

    def long_responses(step: dict[str, float]) -> None:
        if not steps:
            step["response_length/max"] *= 8
        steps.append(step)

    steps: list[dict[str, float]] = []
    new = job(2)
    (long,) = job(5, long_responses)[:1]
    causes = compared(
        logged(tmp_path / "old.duckdb", *job(1)), logged(tmp_path / "new.duckdb", *new[:19], long, *new[20:])
    ).causes
    assert not any("in the others" in cause.text for cause in causes)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [4, 5, 8])
def test_short_logs_of_one_setting_have_no_cause(tmp_path: Path, steps: int) -> None:
    for seed in range(6):
        paths = [logged(tmp_path / f"{seed}-{side}.duckdb", *job(2 * seed + side)[:steps]) for side in (0, 1)]
        assert compared(*paths).causes == ()


def diff_of(folder: Path, new: Steps) -> Diff:
    return compared(logged(folder / "old.duckdb", *job(1)), logged(folder / "new.duckdb", *new))


def first_of(folder: Path, new: Steps) -> Cause:
    return diff_of(folder, new).causes[0]


@pytest.mark.parametrize(
    ("change", "what", "words", "seconds"),
    [
        (changed(response_length__max=1.3), "tail", "longest response has 2,", 6.0),
        (changed(imbalance=1.4), "imbalance", "1.43 times the mean tokens instead of 1.02", 4.5),
        (preempted, "phase", "preemptions instead of", 6.0),
        (slower_update, "phase", "at an MFU of 0.25 instead of 0.4", 6.7),
        (changed(timing_s__reward=6.0), "phase", "Phase reward grew by", 5.0),
        (changed(outside=9.0), "outside", "outside of the timed phases grew by", 4.0),
        (own_timers, "outside", " per step, as timing_s/mine did (not logged → 4.00 s).", 4.0),
        (changed(per_token=1.3), "phase", "Phase generate_sequences grew by", 6.0),
    ],
)
def test_the_first_cause_is_the_reason_and_its_seconds(
    tmp_path: Path, change: Callable[[dict[str, float]], None], what: str, words: str, seconds: float
) -> None:
    cause = first_of(tmp_path, job(2, change))
    assert cause.what == what
    assert words in cause.text
    assert cause.delta_ms == pytest.approx(seconds * MS_PER_S, rel=0.12)


def test_a_reason_of_half_of_the_change_is_named_once(tmp_path: Path) -> None:
    """Generation takes 1.3 × 1.3 times as long; what the longest response leaves is as much as it explains."""
    causes = diff_of(tmp_path, job(2, changed(response_length__max=1.3, per_token=1.3))).causes
    assert [cause.what for cause in causes] == ["tail", "phase"]
    assert [cause.share for cause in causes] == [pytest.approx(0.5, abs=0.05)] * 2


@pytest.mark.parametrize("is_new", [True, False])
def test_what_hardly_matters_is_the_same_both_ways(tmp_path: Path, is_new: bool) -> None:
    """A phase changed by a little more than 2 % of the shorter step, and by less than 2 % of the longer one."""
    step = fmean([one["timing_s/step"] for one in job(1)[1:]])
    new = longer(job(1), "timing_s/reward", 0.0202 * step, range(1, STEPS + 1))
    paths = [logged(tmp_path / f"{name}.duckdb", *steps) for name, steps in (("old", job(1)), ("new", new))]
    (cause,) = compared(*(paths if is_new else reversed(paths))).causes
    assert cause.text.startswith(f"Phase reward {'grew' if is_new else 'shrank'} by ")


@pytest.mark.parametrize(("slower", "rest"), [(1.02, 0.0), (1.13, 2.3)])
@pytest.mark.parametrize("is_new", [True, False])
def test_work_explains_no_more_than_all_that_can_follow_it(
    tmp_path: Path, slower: float, rest: float, is_new: bool
) -> None:
    """Responses are 1.5 times as long, and each of their tokens takes longer too, which is no work."""
    new = job(2, changed(response_length__max=1.5, response_length__mean=1.5, per_token=slower))
    paths = [logged(tmp_path / f"{name}.duckdb", *steps) for name, steps in (("old", job(1)), ("new", new))]
    causes = compared(*(paths if is_new else reversed(paths))).causes
    assert causes[0].what == "workload"
    left = sum(abs(cause.delta_ms or 0.0) for cause in causes if cause.text.startswith("The rest of phase generate"))
    assert left / MS_PER_S == pytest.approx(rest, abs=0.3)


@pytest.mark.parametrize(
    ("slower", "starts"),
    [
        (4.0, ["The rest of phase generate_sequences grew", "Phase generate_sequences grew"]),
        (5.0, ["Phase generate_sequences grew"]),  # beside that, longer responses are not worth naming
    ],
)
def test_there_is_a_rest_only_beside_another_part(tmp_path: Path, slower: float, starts: Sequence[str]) -> None:
    causes = diff_of(tmp_path, job(2, changed(response_length__max=1.08, per_token=slower))).causes
    assert [cause.text.partition(" by ")[0] for cause in causes] == starts


def test_everything_slower_is_no_phase(tmp_path: Path) -> None:
    cause = first_of(tmp_path, job(2, changed(per_token=1.2, per_update=1.2, timing_s__reward=1.2, outside=1.2)))
    assert cause.what == "everything"
    assert "Everything takes about 18 % longer (generate_sequences 18 %, update_actor 19 %)" in cause.text


def test_longer_responses_are_one_reason_of_several_phases(tmp_path: Path) -> None:
    cause = first_of(tmp_path, job(2, changed(response_length__max=1.2, response_length__mean=1.2)))
    assert cause.what == "workload"
    assert "generate_sequences and update_actor grew by" in cause.text
    assert "14 % more tokens (mean response 50" in cause.text


def test_tokens_and_imbalance_are_told_apart(tmp_path: Path) -> None:
    """An update of 11.2 s takes 1.14 × 1.37 times as long: 1.6 s for tokens, 5.1 s for the busiest rank."""
    lengths = {"response_length__max": 1.2, "response_length__mean": 1.2}
    causes = diff_of(tmp_path, job(2, changed(**lengths, imbalance=1.4))).causes
    found = {cause.what: cause for cause in causes}
    assert found["imbalance"].delta_ms == pytest.approx(5100.0, rel=0.1)
    (update,) = (row for row in found["workload"].rows if row["phase"] == "update_actor")
    assert update["delta_ms"] == pytest.approx(1600.0, rel=0.15)


def test_a_mean_of_0_tells_no_imbalance(tmp_path: Path) -> None:
    new = [{**step, "global_seqlen/mean": 0.0} for step in job(2, changed(imbalance=1.4))]
    assert "imbalance" not in {cause.what for cause in diff_of(tmp_path, new).causes}


@pytest.mark.parametrize(("longest", "divided"), [(0.9, True), (1.2, False)])
def test_timers_divide_a_phase_if_they_fit_into_it(tmp_path: Path, longest: float, divided: bool) -> None:
    """Generation and tools of the slowest sample, as a part of timing_s/gen: samples may also overlap."""

    def with_slowest(steps: Steps, tools: float) -> Steps:
        key = "timing_s/agent_loop/slowest/"
        for step in steps:
            whole = step["timing_s/gen"]
            step["timing_s/gen"] += tools
            step["timing_s/step"] += tools
            step[f"{key}generate_sequences"], step[f"{key}tool_calls"] = longest * whole, tools
        return steps

    old = logged(tmp_path / "old.duckdb", *with_slowest(job(1), 1.0))
    new = logged(tmp_path / "new.duckdb", *with_slowest(job(2), 6.0))
    text = compared(old, new).causes[0].text
    assert ("in the tool calls of the slowest sample" in text) == divided


@pytest.mark.parametrize("seed", range(2, 8))
def test_other_luck_is_no_cause(tmp_path: Path, seed: int) -> None:
    assert diff_of(tmp_path, job(seed)).causes == ()


def test_nothing_is_told_of_what_stands_still_or_does_not_fit(tmp_path: Path) -> None:
    """MFU falls by 2 %, and preemptions fall, while the update takes 60 % longer and generation 30 %."""

    def change(step: dict[str, float]) -> None:
        step["perf/mfu/actor"] /= 1.02
        step["per_update"] *= 1.6
        step["per_token"] *= 1.3
        step["timing_s/agent_loop/num_preempted/mean"] = 0.0

    texts = " ".join(cause.text for cause in diff_of(tmp_path, job(2, change)).causes)
    assert "update_actor grew" in texts
    assert "generate_sequences grew" in texts
    assert "MFU" not in texts
    assert "preempt" not in texts


def since(step: int, change: Callable[[dict[str, float]], None]) -> Steps:
    """A job that is another one from a step on."""
    return [*job(2)[: step - 1], *job(2, change)[step - 1 :]]


def later_update(step: dict[str, float]) -> None:
    step["perf/mfu/actor"] /= 2
    step["per_update"] *= 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (changed(timing_s__reward=8.0), "Phase reward grew by"),
        (later_update, "update_actor grew by"),
        (later_update, "at an MFU of 0.3"),
        (changed(response_length__max=1.8, response_length__mean=1.8), "more tokens (mean response 503 → 652)"),
    ],
)
def test_a_level_that_begins_late_is_no_luck(
    tmp_path: Path, change: Callable[[dict[str, float]], None], words: str
) -> None:
    """The steps of such a run spread more than those of two runs differ."""
    assert words in first_of(tmp_path, since(26, change)).text


@pytest.mark.slow
def test_a_level_that_begins_on_both_sides_hides_no_change(tmp_path: Path) -> None:
    """The reward takes 20 s more since step 26 on both sides, and 5 s more throughout on the new one."""

    def since_26(steps: Steps, more: float) -> Steps:
        for number, step in enumerate(steps, 1):
            longer = more + (20.0 if number >= 26 else 0.0)
            step["timing_s/reward"] += longer
            step["timing_s/step"] += longer
        return steps

    stores = [logged(tmp_path / f"{n}.duckdb", *since_26(job(n), more)) for n, more in ((1, 0.0), (2, 5.0), (3, 0.0))]
    cause = compared(*stores[:2]).causes[0]
    assert (cause.row, cause.delta_ms) == ("reward", pytest.approx(5000.0, rel=0.01))
    assert compared(stores[0], stores[2]).causes == ()


def test_a_small_phase_need_not_change_by_what_whole_runs_differ(tmp_path: Path) -> None:
    """2.5 % of the step: three times as long a reward is no luck, and 8 % of an update may be."""
    causes = diff_of(tmp_path, job(2, changed(timing_s__reward=2.0, per_update=1.08))).causes
    assert [cause.row for cause in causes] == ["reward"]


def test_a_phase_that_the_other_side_has_outside_of_its_steps_is_told_as_such(tmp_path: Path) -> None:
    """The baseline saves, too, in every eighth step, but its time of the step does not include that."""

    def saved(steps: Steps, every: int, inside: float) -> Steps:
        for step in steps[1::every]:
            step["timing_s/save_checkpoint"] = 40.0
            step["timing_s/step"] += 40.0 * inside
        return steps

    old, new = (logged(tmp_path / f"{n}.duckdb", *saved(job(n), every, n - 1.0)) for n, every in ((1, 8), (2, 3)))
    (text,) = (cause.text for cause in compared(old, new).causes if cause.row == "save_checkpoint")
    assert text.endswith("in 13 of 39 steps, as timing_s/step of the baseline does not include it.")
    # A side that saves in none of the steps that count, but in its first one, includes it all the same.
    once = list(job(4))
    once[0] = {**once[0], "timing_s/save_checkpoint": 40.0, "timing_s/step": once[0]["timing_s/step"] + 40.0}
    often, once_ = logged(tmp_path / "3.duckdb", *saved(job(3), 3, 1.0)), logged(tmp_path / "4.duckdb", *once)
    (text,) = (cause.text for cause in compared(often, once_).causes if cause.row == "save_checkpoint")
    assert "does not include it" not in text


@pytest.mark.slow
def test_how_often_a_phase_runs_is_a_reason_if_it_explains_the_change(tmp_path: Path) -> None:
    """Each half of a log may have one checkpoint more than the other."""

    def saved(steps: Steps, seconds: float, every: int) -> Steps:
        for number, step in enumerate(steps):
            if number % every == 1:
                step["timing_s/save_checkpoint"] = seconds
                step["timing_s/step"] += seconds
        return steps

    old = logged(tmp_path / "old.duckdb", *saved(job(1), 10.0, 8))
    slower, often = (saved(job(2), *given) for given in ((13.0, 7), (10.0, 3)))
    assert compared(old, logged(tmp_path / "slower.duckdb", *slower)).causes == ()
    (cause,) = compared(old, logged(tmp_path / "often.duckdb", *often)).causes
    assert cause.text == "Phase save_checkpoint grew by 2.05 s per step, in 13 of 39 steps, before in 5 of 39."


def test_a_shorter_longest_response_does_not_make_responses_shorter(tmp_path: Path) -> None:
    causes = diff_of(tmp_path, job(2, changed(response_length__max=0.7, response_length__mean=1.1))).causes
    (text,) = (cause.text for cause in causes if cause.text.startswith("Phase generate_sequences"))
    assert "as the longest response has 1,396 tokens instead of 2,009" in text
    assert "while the mean went from 50" in text


def test_longer_prompts_are_named(tmp_path: Path) -> None:
    text = first_of(tmp_path, job(2, changed(prompt_length__mean=3.0))).text
    assert "as a step has 56 % more tokens (mean prompt 200 → 600)" in text


def test_settings_that_fit_are_named_those_that_matter_most_first() -> None:
    """A smaller batch does not lengthen an update, and a learning rate says nothing of its speed."""
    changes = {
        "actor_rollout_ref.actor.entropy_coeff": ("0", "0.001"), "actor_rollout_ref.actor.optim.lr": ("1e-06", "1e-05"),
        "actor_rollout_ref.actor.use_dynamic_bsz": ("true", "false"), "data.train_batch_size": ("256", "128"),
        "critic.optim.lr": ("1", "2"), "trainer.n_gpus_per_node": ("16", "8"),
    }  # fmt: skip
    rows = tuple({"name": name, "baseline": old, "new": new} for name, (old, new) in changes.items())
    sections = {"env": Section("env", "", (), None, "", rows)}
    evidence = Evidence(None, None, {}, sections, (), {}, on_device=True, timed_phases=True, rare_phases={})
    names = settings_of(Part(TIMER, "update_actor", "update_actor", 10.0, 20.0))
    dynamic = "actor_rollout_ref.actor.use_dynamic_bsz true → false"
    assert settings(evidence, names, 10.0) == f" (trainer.n_gpus_per_node 16 → 8; {dynamic})"
    assert settings(evidence, names, -10.0) == f" (data.train_batch_size 256 → 128; {dynamic})"


def test_what_hardly_happens_is_no_reason(tmp_path: Path) -> None:
    """Generation takes 30 % longer per token; preemptions rose from 0.1 to 0.2 per sample, which costs nothing."""

    def change(step: dict[str, float]) -> None:
        step["timing_s/agent_loop/num_preempted/mean"] += 0.1
        step["per_token"] *= 1.3

    text = first_of(tmp_path, job(2, change)).text
    assert text.startswith("Phase generate_sequences grew by") and "preemptions" not in text


def test_generation_beside_the_step_did_not_shrink(tmp_path: Path) -> None:
    def change(step: dict[str, float]) -> None:
        step["timing_s/generate_async"] = 20.0
        step["per_token"] = 0.01

    text = first_of(tmp_path, job(2, change)).text
    assert "generate_sequences shrank by" in text
    assert "as it runs beside the step on the new side (timing_s/generate_async)" in text


def test_a_slowdown_that_fewer_tokens_hide_is_told(tmp_path: Path) -> None:
    """Responses have 0.7 times as many tokens; each takes 1.4 times as long."""

    def change(step: dict[str, float]) -> None:
        for name in ("response_length/mean", "response_length/max"):
            step[name] *= 0.7
        step["per_token"] *= 1.4

    texts = " ".join(cause.text for cause in diff_of(tmp_path, job(2, change)).causes)
    assert re.search(r"; but for the same work generate_sequences takes about [\d.]+ s more", texts), texts
