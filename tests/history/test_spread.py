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


def test_what_cannot_be_told() -> None:
    assert spread([30.0, 31.0, 30.5, 30.2]) is None
    assert spread([30.0, 31.0, 30.5, 30.2, -1.0]) is None
    assert spread([5.0] * 6) == Spread(0.0, 5, "the history of 6 runs")
