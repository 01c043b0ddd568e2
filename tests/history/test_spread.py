"""The spread between runs within flat stretches."""

from __future__ import annotations

import random

import numpy as np
import pytest

from rlcompare.compare.estimate import Spread
from rlcompare.history.records import Series
from rlcompare.history.spread import spread_of
from tests.history.examples import HEADLINE, noisy


def spread(values: list[float]) -> Spread | None:
    return spread_of(Series("environ", HEADLINE, "s", list(range(1, len(values) + 1)), values))


def test_of_flat_runs() -> None:
    values = noisy(random.Random(1), 40, 0.03, slow=0.1)
    found = spread(values)
    assert found is not None
    assert found.value == pytest.approx(float(np.std(np.log(values), ddof=1)))
    assert (found.freedom, found.source) == (39, "the history of 40 runs")


def test_changes_of_level_do_not_count() -> None:
    """GIVEN a change of 30 %, the spread is that of both stretches, as if they were flat."""
    values = noisy(random.Random(4), 60, 0.02, at=25, change=0.3)
    found = spread(values)
    assert found is not None
    logs = np.log(values)
    squares = sum(float(np.sum((part - part.mean()) ** 2)) for part in (logs[:25], logs[25:]))
    assert found.value == pytest.approx((squares / 57) ** 0.5)
    assert found.freedom == 57


def test_it_is_hardly_too_small() -> None:
    """A spread that is too small makes a gate cry wolf: over many histories it is right in the mean."""
    ratios = []
    for seed in range(100):
        rng = random.Random(seed)
        found = spread(noisy(rng, 30, 0.03, at=rng.choice([None, 12, 20]), change=0.15))
        assert found is not None
        ratios.append(found.value / 0.03)
    assert 0.95 < np.mean(np.square(ratios)) ** 0.5 < 1.1


@pytest.mark.parametrize(("count", "at"), [(15, 8), (15, 12), (20, 18), (60, 58)])
def test_a_jump_too_recent_to_be_confirmed_is_no_noise(count: int, at: int) -> None:
    """GIVEN 1 % of noise and a jump of 15 % of which no search can be sure yet, the spread is that of the noise."""
    found = [spread(noisy(random.Random(seed), count, 0.01, at=at, change=0.15)) for seed in range(30)]
    ratios = [one.value / 0.01 for one in found if one is not None]
    assert len(ratios) >= 28
    assert 0.9 < np.mean(np.square(ratios)) ** 0.5 < 1.15
    assert max(ratios) < 2


def test_what_may_be_a_jump_or_a_slow_run_tells_no_noise() -> None:
    """A slow run at the end may be the first of a new level; in the middle or at the start it is noise."""
    values = noisy(random.Random(2), 20, 0.01)
    slow = [value * 1.2 for value in values]
    assert spread([*values[:-1], slow[-1]]) is None
    assert spread([*values[:5], *slow[5:8]]) is None
    for place in (0, 10):
        found = spread([*values[:place], slow[place], *values[place + 1 :]])
        assert found is not None
        assert found.value > 0.03


def test_a_drift_is_noise() -> None:
    values = [30 * (1 + 0.01 * place) for place in range(15)]
    found = spread(values)
    assert found is not None
    assert found.value == pytest.approx(float(np.std(np.log(values), ddof=1)))


@pytest.mark.parametrize("slow", [0.0, 0.1])
def test_short_flat_histories_keep_their_spread(slow: float) -> None:
    """Of few runs, some of them slow, the spread is right in the mean although jumps are looked for."""
    for count in (8, 12, 20):
        histories = [noisy(random.Random(seed), count, 0.02, slow) for seed in range(200)]
        variances = [found.value**2 for values in histories if (found := spread(values))]
        assert len(variances) > 180
        assert 0.94 < np.mean(variances) / np.mean([np.var(np.log(values), ddof=1) for values in histories]) < 1.01


def test_what_cannot_be_told() -> None:
    assert spread([30.0, 31.0, 30.5, 30.2]) is None
    assert spread([30.0, 31.0, 30.5, 30.2, -1.0]) is None
    assert spread([5.0] * 6) is None, "scores move in steps"
