"""Estimates, intervals and odds against SciPy, NumPy and the enumeration of all orders."""

from __future__ import annotations

import math
import random
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rlcompare.compare.estimate import (
    FALSE_ALARM,
    MISS,
    Spread,
    absolute_change,
    allowed,
    least_odds,
    odds_of_order,
    orders,
    relative_change,
    student_quantile,
)

SIZES = [(1, 1), (3, 6), (4, 4), (3, 10), (5, 5), (5, 8), (8, 8), (12, 9)]


def draw(runs: int, seed: object, factor: float = 1.0) -> list[float]:
    rng = random.Random(f"{seed}")
    return [factor * math.exp(rng.gauss(0, 0.03)) for _ in range(runs)]


@pytest.mark.parametrize(("old", "new"), SIZES)
def test_odds_equal_scipy(old: int, new: int) -> None:
    for seed in range(20):
        baseline, fresh = draw(old, f"a{seed}"), draw(new, f"b{seed}", 1 + 0.01 * (seed % 5))
        oracle = stats.mannwhitneyu(fresh, baseline, alternative="greater", method="exact").pvalue
        wrong = sum(there < here for here in baseline for there in fresh)
        assert odds_of_order(old, new, wrong) == pytest.approx(oracle, rel=1e-12)


@pytest.mark.parametrize(("old", "new"), [(1, 4), (3, 3), (4, 4), (3, 5), (5, 5)])
def test_orders_are_all_that_there_are(old: int, new: int) -> None:
    counted = [0] * (old * new + 1)
    for chosen in combinations(range(old + new), old):
        rest = [place for place in range(old + new) if place not in chosen]
        counted[sum(there < here for here, there in product(chosen, rest))] += 1
    assert list(orders(old, new)) == counted
    assert least_odds(old, new) == 1 / sum(counted)
    for tail in (0.2, 0.05, FALSE_ALARM, MISS):
        found = allowed(new, old, tail)
        least = 0 if found is None else found + 1
        assert sum(counted[:least]) <= sum(counted) * tail * (1 + 1e-9) < sum(counted[: least + 1])


def test_the_least_numbers_of_runs() -> None:
    """3 against 6: 1 of 84; 4 against 4: 1 of 70; 5 against 5: 1 of 252."""
    assert [round(1 / least_odds(*sizes)) for sizes in ((3, 6), (4, 4), (5, 5))] == [84, 70, 252]
    assert [allowed(3, 6, MISS), allowed(4, 4, MISS), allowed(3, 5, 1 / 50)] == [0, None, 0]
    assert [allowed(5, 5, FALSE_ALARM), allowed(4, 5, FALSE_ALARM), allowed(8, 8, FALSE_ALARM)] == [0, None, 8]


@pytest.mark.parametrize(("old", "new"), SIZES)
def test_the_estimate_is_the_median_of_all_pairs(old: int, new: int) -> None:
    baseline, fresh = draw(old, "a"), draw(new, "b", 1.1)
    pairs = np.log(np.divide.outer(fresh, baseline))
    assert relative_change(baseline, fresh, 0.1, 0.1).change == pytest.approx(np.expm1(np.median(pairs)))
    difference = np.median(np.subtract.outer(fresh, baseline))
    assert absolute_change(baseline, fresh, 0.1, 0.1).change == pytest.approx(difference)


@pytest.mark.parametrize(("old", "new"), [(5, 5), (5, 8), (8, 8), (12, 9)])
def test_the_interval_holds_what_the_test_does_not_reject(old: int, new: int) -> None:
    """A shift lies above the lower end if SciPy's exact test does not reject it from below; likewise the upper one."""
    baseline, fresh = draw(old, "a"), draw(new, "b", 1.1)
    found = relative_change(baseline, fresh, FALSE_ALARM, MISS)
    for end, sign, tail in ((found.low, 1, FALSE_ALARM), (found.high, -1, MISS)):
        for beyond, rejected in ((-1e-9, True), (1e-9, False)):
            shifted = [value * (1 + end) * (1 + sign * beyond) for value in baseline]
            side = "greater" if sign > 0 else "less"
            odds = stats.mannwhitneyu(fresh, shifted, alternative=side, method="exact").pvalue
            assert (odds <= tail) == rejected


def test_the_quantiles_equal_scipy() -> None:
    for freedom in (1, 2, 3, 7, 20, 101):
        for probability in (0.6, 0.95, 1 - MISS, 1 - FALSE_ALARM, 0.9999):
            oracle = stats.t.ppf(probability, freedom)
            assert student_quantile(probability, freedom) == pytest.approx(oracle, rel=1e-9)
    assert Spread(0.03).reach(FALSE_ALARM) == pytest.approx(stats.norm.ppf(1 - FALSE_ALARM))
    assert Spread(0.03, 9).reach(MISS) == pytest.approx(stats.t.ppf(1 - MISS, 9))


def test_what_is_assumed_widens_the_interval_of_few_runs() -> None:
    """One against one: 2.576 × 3 % × √2 in logarithms; of several, no end lies within the pairs."""
    one = relative_change([100.0], [100.0], FALSE_ALARM, FALSE_ALARM, Spread(0.03))
    assert (one.low, one.high) == (pytest.approx(-0.1035, abs=1e-3), pytest.approx(0.1155, abs=1e-3))
    assert (one.low_measured, one.high_measured) == (False, False)
    apart = relative_change([100.0, 130.0], [100.0, 101.0], FALSE_ALARM, FALSE_ALARM, Spread(0.001))
    assert (apart.low, apart.high) == (pytest.approx(-3 / 13), pytest.approx(0.01))
    nothing = relative_change([100.0], [100.0], FALSE_ALARM, FALSE_ALARM)
    assert (nothing.low, nothing.high) == (math.expm1(-math.inf), math.inf)


runs_of = st.lists(st.floats(1, 100), min_size=1, max_size=7)


@settings(max_examples=60)
@given(runs_of, runs_of, st.sampled_from([None, Spread(0.03)]))
def test_the_ends_enclose_the_estimate_and_turn_with_the_sides(
    baseline: list[float], new: list[float], spread: Spread | None
) -> None:
    found = relative_change(baseline, new, FALSE_ALARM, MISS, spread)
    assert found.low <= found.change <= found.high
    turned = relative_change(new, baseline, MISS, FALSE_ALARM, spread)
    assert 1 + found.change == pytest.approx(1 / (1 + turned.change))
    assert 1 + found.low == pytest.approx(0.0 if math.isinf(turned.high) else 1 / (1 + turned.high))
