"""Changes of level, trends and regular spikes within a run: against a brute-force search, and on simulated runs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlcompare.compare.drift import period_of, spikes_of, trend_of, upper_level
from rlcompare.compare.onset import levels_of, partition
from rlcompare.compare.records import RunSeries
from rlcompare.compare.run_events import run_events
from rlcompare.model.words import SideName


def noise(rng: random.Random, count: int, correlation: float = 0.0, skewed: bool = False) -> list[float]:
    """A first-order autoregression of variance 1."""
    spread, value, made = (1 - correlation**2) ** 0.5, rng.gauss(0, 1), []
    for _ in range(count):
        value = correlation * value + spread * (rng.expovariate(1) - 1 if skewed else rng.gauss(0, 1))
        made.append(value)
    return made


def cost_of(values: Sequence[float], starts: Sequence[int], penalty: float) -> float:
    """Sum of squares around the mean of each level, and the penalties."""
    levels = [values[a:b] for a, b in pairwise([0, *starts, len(values)])]
    squares = sum((value - fmean(level)) ** 2 for level in levels for value in level)
    return squares + penalty * len(starts)


def least_cost(values: Sequence[float], penalty: float, least: int) -> float:
    """The cost of the best of all partitions: tries each start of the last level, without pruning."""

    @cache
    def best(stop: int) -> float:
        whole = cost_of(values[:stop], [], penalty)
        splits = range(least, stop - least + 1)
        return min([whole, *(best(at) + cost_of(values[at:stop], [], penalty) + penalty for at in splits)])

    return best(len(values))


@given(
    values=st.lists(st.integers(-9, 9).map(float), min_size=4, max_size=26),
    penalty=st.floats(0.5, 60),
    least=st.integers(1, 4),
)
def test_the_partition_is_the_best_of_all(values: list[float], penalty: float, least: int) -> None:
    found = partition(values, penalty, least)
    assert all(b - a >= least for a, b in pairwise([0, *found, len(values)]))
    assert cost_of(values, found, penalty) == pytest.approx(least_cost(values, penalty, least))


@pytest.mark.parametrize("least", [2, 3, 4, 5])
def test_pruning_loses_no_partition(least: int) -> None:
    """Series with jumps, where a start that seems lost may still begin the best level."""
    for seed in range(60):
        rng = random.Random(seed)
        values = [float(rng.choice([0, 0, 1, 5, 9, -4])) for _ in range(rng.randint(10, 24))]
        penalty = rng.choice([5, 15, 40])
        found = partition(values, penalty, least)
        assert cost_of(values, found, penalty) == pytest.approx(least_cost(values, penalty, least))


def null_series(number: int) -> list[float]:
    """A series without a change of level: noise of many kinds, spikes, checkpoints, rare events, trends, wandering."""
    rng = random.Random(number)
    count, correlation = rng.choice([16, 20, 30, 60, 100, 300]), rng.choice([-0.3, 0.0, 0.3, 0.5])
    made = noise(rng, count, correlation, skewed=number % 3 == 0)
    match number % 8:
        case 1:
            made = [value + (15 if rng.random() < 0.05 else 0) for value in made]
        case 2:
            made = [value + (15 if step % 10 == 9 else 0) for step, value in enumerate(made)]
        case 3:
            made = [float(rng.random() < 0.1) for _ in made]
        case 4:
            made = [value + 10 * step / count for step, value in enumerate(made)] if count > 30 else made
        case 5:
            made = [round(value) / 1000 for value in made]
        case 6 if count > 60:
            made = [sum(made[:step]) for step in range(count)]
    return made


def test_false_alarms_are_rare() -> None:
    """At most one in 1,000 was the result on 30,000 series; here there are 1,200, so one may happen."""
    assert sum(len(levels_of(null_series(number))) > 1 for number in range(1200)) <= 2


@pytest.mark.parametrize(
    ("count", "start", "jump", "correlation"),
    [(40, 25, 12, 0), (60, 40, 8, 0), (60, 54, 8, 0), (300, 240, 4, 0), (300, 240, 6, 0.5), (5000, 3333, 6, 0.3)],
)
def test_the_step_of_a_jump_is_found(count: int, start: int, jump: float, correlation: float) -> None:
    """The jump in standard deviations, beside spikes in one of 30 steps. Found in nearly all runs, at its step."""
    found = 0
    for seed in range(20):
        rng = random.Random(seed)
        made = [value + (15 if rng.random() < 0.03 else 0) for value in noise(rng, count, correlation)]
        levels = levels_of([value + (jump if step >= start else 0) for step, value in enumerate(made)])
        if len(levels) == 2 and abs(levels[1].start - start) <= 1:
            found += abs(levels[1].value - levels[0].value - jump) < 1.5
    assert found >= 17


@pytest.mark.parametrize("at", [36, 37, 38, 42, 43])
@pytest.mark.parametrize("steps", [60, 1200])
def test_a_spike_near_a_jump_does_not_move_it(steps: int, at: int) -> None:
    """A step before it that takes as long as the new level, or one after it that takes as long as the old level."""
    before, start = 3.8, steps - 20
    values = [before + 0.1 * value + 3.6 * (step >= start) for step, value in enumerate(noise(random.Random(1), steps))]
    values[start - 40 + at] += 3.6 if at < 40 else -3.6
    levels = levels_of(values)
    assert [level.start for level in levels] == [0, start]
    assert [level.value for level in levels] == pytest.approx([before, before + 3.6], abs=0.15)


def test_an_episode_has_a_start_and_an_end() -> None:
    rng = random.Random(5)
    values = [34 + value + (8 if 240 <= step < 270 else 0) for step, value in enumerate(noise(rng, 400, 0.3))]
    assert [level.start for level in levels_of(values)] == [0, 240, 270]


@pytest.mark.parametrize("value", [0.0, 12.5, 1e9])
def test_constant_and_exact_values(value: float) -> None:
    assert len(levels_of([value] * 50)) == 1
    assert [level.start for level in levels_of([value] * 30 + [value + 3] * 20)] == [0, 30]


@pytest.mark.parametrize("count", range(18))
def test_few_values_have_one_level(count: int) -> None:
    assert len(levels_of([float(step) for step in range(count)])) == min(count, 1)


def test_a_trend_is_a_trend() -> None:
    rng = random.Random(3)
    ends = trend_of([30 + 6 * step / 200 + value for step, value in enumerate(noise(rng, 200, 0.3))])
    assert ends == (pytest.approx(30, abs=0.5), pytest.approx(36, abs=0.5))
    assert sum(trend_of(noise(random.Random(seed), 200, 0.5)) is not None for seed in range(300)) == 0
    wandering = [noise(random.Random(seed), 200, 0.995) for seed in range(300)]
    assert sum(trend_of(values) is not None for values in wandering) <= 9


def test_regular_spikes() -> None:
    rng = random.Random(4)
    values = [10 + 0.2 * value + (25 if step % 10 == 0 else 0) for step, value in enumerate(noise(rng, 95))]
    assert spikes_of(values, 1.0) == list(range(0, 95, 10))
    assert period_of(range(10, 96, 10), 1, 95) == 10
    assert period_of([10, 20, 30, 41, 50, 60, 70], 1, 75) == 10
    assert period_of([10, 20, 30], 1, 30) is None
    assert period_of([3, 9, 31, 40, 77, 80], 1, 95) is None
    assert period_of([10, 20, 30, 40], 1, 400) is None


@pytest.mark.parametrize("period", [4, 5, 7, 8, 13, 20])
def test_spikes_of_any_period(period: int) -> None:
    """However close they are, they do not hide each other."""
    rng = random.Random(period)
    values = [48 + 0.5 * value + (15 if step % period == 0 else 0) for step, value in enumerate(noise(rng, 100))]
    own = spikes_of(values, 9.0)
    assert own == list(range(0, 100, period))
    assert period_of(own, 0, 99) == period


def test_two_levels() -> None:
    """A third of the steps takes 4 more, at a noise of 0.5. One level is never two, whatever its noise is."""
    rng = random.Random(3)
    slow = [rng.random() < 0.3 for _ in range(100)]
    values = [30 + 4 * is_slow + 0.5 * value for is_slow, value in zip(slow, noise(rng, 100), strict=True)]
    assert upper_level(values, 1.5) == [place for place, is_slow in enumerate(slow) if is_slow]
    assert upper_level(values, 5.0) == [], "less than what is asked for"
    assert upper_level(sorted(values), 1.5) == [], "one change of level is no two levels"
    assert upper_level(values[:15], 1.5) == [], "too few steps"
    assert upper_level([30.0] * 60, 0.0) == []
    for seed in range(400):
        rng, count = random.Random(seed), 20 + seed % 80
        for one in (
            noise(rng, count), noise(rng, count, 0.6), noise(rng, count, skewed=True),
            [rng.random() for _ in range(count)], [rng.lognormvariate(0, 1) for _ in range(count)],
        ):  # fmt: skip
            assert upper_level(one, 0.0) == []


@pytest.mark.parametrize(("rise", "alike"), [(9.0, True), (1.0, False)])
def test_a_trend_that_the_other_side_has_in_part_is_no_news(rise: float, alike: bool) -> None:
    """That of 9 % is not told itself."""
    rises: dict[SideName, float] = {"baseline": rise, "new": 11.0}
    steps = list(range(100))
    series = [
        RunSeries(side, 0, "timing_s/ref", "ref_log_prob", steps, [100 + at * step / 100 for step in steps], [])
        for side, at in rises.items()
    ]
    (event,) = run_events(series, [])
    assert (event.side, event.elsewhere) == ("new", alike)


@pytest.mark.parametrize("kept", [90, 130, 200])
@pytest.mark.parametrize("kind", ["drift", "jump"])
def test_of_a_log_and_a_part_of_it_neither_has_what_the_other_has_not(kept: int, kind: str) -> None:
    rng = random.Random(kept)
    values = [
        rng.gauss(100, 1) + (step / 8 if kind == "drift" else 12 * (step > 110) if kept > 110 else 12 * (step > 60))
        for step in range(1, 201)
    ]
    lengths: dict[SideName, int] = {"baseline": 200, "new": kept}
    series = [
        RunSeries(side, 0, "timing_s/step", None, list(range(1, length + 1)), values[:length], [])
        for side, length in lengths.items()
    ]
    events = [event for event in run_events(series, ()) if event.what in ("onset", "trend")]
    assert events
    assert [event.text for event in events if event.elsewhere is False] == []


def test_a_timer_that_changed_at_another_step_is_no_part_of_a_change() -> None:
    rng = random.Random(5)
    gen = [rng.gauss(45, 0.5) + 15 * (step >= 70) for step in range(1, 101)]
    update = [rng.gauss(57, 0.5) + 10 * (step >= 30) for step in range(1, 101)]
    steps = list(range(1, 101))
    made = {"timing_s/gen": gen, "timing_s/update_actor": update}
    made["timing_s/step"] = [a + b for a, b in zip(gen, update, strict=True)]
    series = [
        RunSeries("new", 0, name, None if name == "timing_s/step" else name.rpartition("/")[2], steps, values, [])
        for name, values in made.items()
    ]
    for event in run_events(series, ()):
        if event.metric == "timing_s/step" and event.step == 70:
            assert [fact.name for fact in event.facts] == ["timing_s/gen"]
            break
    else:
        raise AssertionError("the jump at step 70 was not found")
