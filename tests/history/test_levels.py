"""Changes of level between runs: the odds against enumeration, the search on simulated runs."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import pytest

from rlcompare.history.levels import fewest_after, levels_of, runs_needed
from rlcompare.history.ranks import RankSums, least_odds, odds
from tests.history.examples import noisy

ALPHA = 0.0025


@pytest.mark.parametrize(("few", "many"), [(1, 4), (3, 6), (4, 4), (5, 7)])
def test_the_odds_are_those_of_all_orders(few: int, many: int) -> None:
    """GIVEN all ways in which the smaller group can take its places, each pair in the wrong order is counted."""
    counted = Counter(
        sum(place > other for place in places for other in set(range(few + many)) - set(places))
        for places in combinations(range(few + many), few)
    )
    total = sum(counted.values())
    for wrong in range(few * many // 2):
        both = sum(times for pairs, times in counted.items() if min(pairs, few * many - pairs) <= wrong)
        assert odds(few, many, wrong) == pytest.approx(both / total)
    assert odds(many, few, 0) == pytest.approx(least_odds(few, many))


def test_the_odds_of_larger_groups_are_those_of_random_orders() -> None:
    rng = random.Random(1)
    few, many = 13, 17
    orders = [sorted(rng.sample(range(few + many), few)) for _ in range(20_000)]
    found = sorted(
        min(pairs, few * many - pairs)
        for pairs in (sum(place - rank for rank, place in enumerate(order)) for order in orders)
    )
    for part in (0.005, 0.02, 0.2):
        wrong = found[int(part * len(found))]
        assert odds(few, many, wrong) == pytest.approx(sum(one <= wrong for one in found) / len(found), rel=0.2)


def test_ranks_of_equal_values_are_shared() -> None:
    ranks = RankSums([1.0, 1.0, 2.0, 2.0])
    assert ranks.wrong(2, 4) == 0
    assert RankSums([5.0] * 6).wrong(3, 6) == 4.5
    assert RankSums([1.0, 3.0, 2.0, 3.0]).wrong(2, 4) == 1.5


def test_false_changes_are_as_rare_as_stated() -> None:
    """At most 0.25 % of series may have one. Outliers, ties and skewed noise are no changes."""
    found = 0
    for seed in range(400):
        rng = random.Random(seed)
        values = noisy(rng, rng.choice([12, 30, 60]), rng.choice([0.005, 0.02, 0.05]), slow=0.1 * (seed % 2))
        values = [round(value) for value in values] if seed % 5 == 0 else values
        found += len(levels_of(values, ALPHA)) > 1
    assert found <= 4


@pytest.mark.parametrize(
    ("noise", "slow", "change", "at", "least_found", "least_placed"),
    [
        (0.005, 0.0, 0.02, 30, 1.0, 0.97),
        (0.02, 0.0, 0.10, 40, 0.97, 0.97),
        (0.02, 0.1, 0.10, 40, 0.88, 0.92),
        (0.02, 0.1, -0.10, 20, 0.88, 0.92),
        (0.05, 0.0, 0.20, 40, 0.97, 0.90),
    ],
)
def test_the_run_of_a_change_is_found(
    noise: float, slow: float, change: float, at: int, least_found: float, least_placed: float
) -> None:
    """GIVEN a change put into 60 runs, it is found, and of those found nearly all within one run of its place."""
    rounds, found, placed = 60, 0, 0
    for seed in range(rounds):
        levels = levels_of(noisy(random.Random(seed), 60, noise, slow, at=at, change=change), ALPHA)
        found += len(levels) > 1
        placed += any(abs(level.start - at) <= 1 and not level.gradual for level in levels[1:])
    assert found >= least_found * rounds
    assert placed >= least_placed * found


def test_a_change_that_ended_has_a_start_and_an_end() -> None:
    values = noisy(random.Random(3), 60, 0.01)
    values[30:38] = [value * 1.1 for value in values[30:38]]
    assert [(level.start, level.stop) for level in levels_of(values, ALPHA)] == [(0, 30), (30, 38), (38, 60)]


def test_several_changes_do_not_hide_each_other() -> None:
    """Around a single change, the runs of the others resemble their neighbours: that is no autocorrelation."""
    rounds, found = 30, 0
    for seed in range(rounds):
        values = noisy(random.Random(seed), 90, 0.02)
        values = [value * (1.1 if 20 <= place < 40 or place >= 70 else 1) for place, value in enumerate(values)]
        starts = [level.start for level in levels_of(values, ALPHA)[1:]]
        found += len(starts) == 3 and all(abs(a - b) <= 1 for a, b in zip(starts, (20, 40, 70), strict=True))
    assert found >= 0.9 * rounds


def test_a_drift_is_gradual() -> None:
    for seed in range(10):
        rng = random.Random(seed)
        values = [30 + 6 * place / 60 + 0.3 * rng.gauss(0, 1) for place in range(60)]
        levels = levels_of(values, ALPHA)
        assert len(levels) > 1
        assert all(level.gradual for level in levels[1:])


def test_exact_values() -> None:
    """A peak of memory is often the same in all runs; four runs with another one are enough in a long history."""
    assert len(levels_of([1024.0] * 60, ALPHA)) == 1
    assert [level.start for level in levels_of([1024.0] * 56 + [1100.0] * 4, ALPHA)] == [0, 56]
    assert len(levels_of([1024.0] * 58 + [1100.0] * 2, ALPHA)) == 1


def test_small_changes_may_be_left_out() -> None:
    values = noisy(random.Random(1), 60, 0.001, at=30, change=0.008)
    assert len(levels_of(values, ALPHA)) == 2
    assert len(levels_of(values, ALPHA, least_change=0.01)) == 1


def test_few_runs_tell_nothing_and_that_is_known() -> None:
    """How long a change must have lasted agrees with the search in the clearest case: a jump without noise."""
    for count in range(2, 61):
        lengths = range(1, count // 2 + 1) if count < 30 or count == 60 else ()
        found = [
            length
            for length in lengths
            if len(levels_of([1 + (place >= count - length) + (place % 2) / 1000 for place in range(count)], ALPHA)) > 1
        ]
        if lengths:
            assert fewest_after(count, ALPHA) == min(found, default=None), count
            assert (count >= runs_needed(ALPHA)) == bool(found)
    assert levels_of([], ALPHA) == ()
    assert [len(levels_of([1.0] * count, ALPHA)) for count in range(1, 5)] == [1, 1, 1, 1]
