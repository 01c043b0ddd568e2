"""How large a change between the runs of two sides is, and how sure that is. Pure: numbers in, numbers out.

The sample is the run (docs/design.md §8). The estimate is that of Hodges and Lehmann: the median of the changes between
all pairs of runs, one per side. The ends of its interval are changes of single pairs too, chosen by the exact
distribution of Mann and Whitney's U (Bauer, 1972). They assume no distribution of run times, and one slow run of ten
moves them little. With few runs no interval of this kind is sure enough: its ends then come from an assumed spread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist, median
from typing import NamedTuple

FALSE_ALARM = 1 / 190
"""How often the end of an interval that lies nearer to no change may be beyond the true change.

Rare enough for 1 %, and often enough that one slow run of eight does not hide what all other pairs of runs show."""

MISS = 1 / 80
"""How often the far end may fall short of it."""

BY_STEPS = "estimated from their steps"
"""The source of a spread that the steps of the runs show."""


class Spread(NamedTuple):
    """How much runs of one setting differ, where the runs at hand are too few to tell.

    Attributes:
        value: one standard deviation, as a fraction of the level.
        freedom: degrees of freedom, if it was estimated from earlier runs; None: it is taken for granted.
        source: where it comes from, in words.
    """

    value: float
    freedom: int | None = None
    source: str = ""

    def reach(self, tail: float) -> float:
        """The number of standard deviations that a change exceeds by luck with the probability ``tail``."""
        return NormalDist().inv_cdf(1 - tail) if self.freedom is None else student_quantile(1 - tail, self.freedom)


class Estimate(NamedTuple):
    """A change between two sides: as a fraction of the baseline, or in the unit of the values.

    Attributes:
        change: the Hodges–Lehmann estimate.
        low, high: the interval; infinite where there are too few runs and no spread is assumed.
        low_measured, high_measured: whether each end comes from the runs alone.
    """

    change: float
    low: float
    high: float
    low_measured: bool
    high_measured: bool


def relative_change(
    baseline: Sequence[float],
    new: Sequence[float],
    low_tail: float,
    high_tail: float,
    spread: Spread | None = None,
) -> Estimate:
    """The change as a fraction of the baseline.

    Args:
        baseline, new: one positive value per run.
        low_tail, high_tail: the probability that the true change lies beyond each end.
        spread: assumed where the runs do not suffice for a tail.
    """
    found = _estimate(
        [math.log(value) for value in baseline], [math.log(value) for value in new], low_tail, high_tail, spread, 1.0
    )
    low, change, high = (_fraction(value) for value in (found.low, found.change, found.high))
    return Estimate(change, low, high, found.low_measured, found.high_measured)


def absolute_change(
    baseline: Sequence[float],
    new: Sequence[float],
    low_tail: float,
    high_tail: float,
    spread: Spread | None = None,
) -> Estimate:
    """The change in the unit of the values, which may be negative; else like ``relative_change``.

    The assumed spread is that of the side with the larger values: a baseline near zero does not make the other exact.
    """
    level = max(abs(median(baseline)), abs(median(new)))
    return _estimate(baseline, new, low_tail, high_tail, spread, level)


def _fraction(logarithm: float) -> float:
    return math.expm1(logarithm) if logarithm < 700 else math.inf


def _estimate(
    baseline: Sequence[float],
    new: Sequence[float],
    low_tail: float,
    high_tail: float,
    spread: Spread | None,
    level: float,
) -> Estimate:
    changes = sorted(there - here for here in baseline for there in new)
    change = median(changes)
    apart = math.sqrt(1 / len(baseline) + 1 / len(new))
    ends, measured = [], []
    for tail, order, sign in ((low_tail, changes, -1), (high_tail, changes[::-1], 1)):
        beyond = allowed(len(baseline), len(new), tail)
        measured.append(beyond is not None)
        if beyond is not None:
            ends.append(order[beyond])
        elif spread is None:
            ends.append(sign * math.inf)
        else:
            assumed = change + sign * spread.reach(tail) * spread.value * level * apart
            ends.append(sign * max(sign * order[0], sign * assumed))
    return Estimate(change, ends[0], ends[1], measured[0], measured[1])


_MOST_PAIRS = 10_000
"""Pairs of runs up to which their orders are counted. Beyond, their distribution is as good as normal."""


def odds_of_order(few: int, many: int, wrong: int) -> float:
    """The odds that by luck at most so many pairs of runs are in the wrong order: exact, one-sided."""
    if few * many > _MOST_PAIRS:
        return NormalDist(few * many / 2, _deviation(few, many)).cdf(wrong + 0.5)
    ways = orders(*sorted((few, many)))
    return sum(ways[: wrong + 1]) / sum(ways)


def least_odds(few: int, many: int) -> float:
    """The odds that all runs of one side lie above all of the other by luck: no test of order is surer."""
    return 1 / math.comb(few + many, few)


def _deviation(few: int, many: int) -> float:
    """The standard deviation of the number of pairs of runs in the wrong order, if the sides differ in nothing."""
    return math.sqrt(few * many * (few + many + 1) / 12)


@lru_cache(maxsize=1024)
def allowed(few: int, many: int, tail: float) -> int | None:
    """How many pairs of runs may be in the wrong order at a probability of error; None: not even that none is."""
    if few > many:
        return allowed(many, few, tail)
    if few * many > _MOST_PAIRS:
        most = math.floor(few * many / 2 - 0.5 + NormalDist().inv_cdf(tail) * _deviation(few, many)) - 1
        return most if most >= 0 else None
    bound, found, rarer = math.comb(few + many, few) * tail * (1 + 1e-12), None, 0
    for pairs, number in enumerate(orders(few, many)):
        rarer += number
        if rarer > bound:
            break
        found = pairs
    return found


@lru_cache(maxsize=256)
def orders(few: int, many: int) -> tuple[int, ...]:
    """The number of orders of runs with 0, 1, 2, … pairs in the wrong order: coefficients of a Gaussian binomial."""
    ways = [1] + [0] * (few * many)
    for step in range(1, few + 1):
        for place in range(len(ways) - 1, many + step - 1, -1):
            ways[place] -= ways[place - many - step]
        for place in range(step, len(ways)):
            ways[place] += ways[place - step]
    return tuple(ways)


@lru_cache(maxsize=256)
def student_quantile(probability: float, freedom: int) -> float:
    """The quantile of Student's t distribution; ``probability`` is above one half.

    By bisection over its tail, a finite sum for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4).
    """
    low, high = 0.0, 1.0
    while _student_cdf(high, freedom) < probability:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_cdf(middle, freedom) < probability else (low, middle)
    return high


def _student_cdf(t: float, freedom: int) -> float:
    angle = math.atan(t / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = freedom % 2
    term, total = (cosine, 0.0) if odd else (1.0, 0.0)
    for place in range(2 + odd, freedom + 1, 2):
        total += term
        term *= cosine**2 * (place - 1) / place
    inside = sine * total if not odd else (angle + sine * total) * 2 / math.pi
    return 0.5 + inside / 2
