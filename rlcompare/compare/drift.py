"""Slow trends and regular spikes of a series: pure functions over the values of one metric, step by step.

They describe a run beside its changes of level (``onset``): a job that becomes slower all the time has no step since
which it is slower, and a checkpoint in each tenth step is not a change.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, combinations, pairwise
from statistics import fmean, median, variance

from rlcompare.compare.onset import SPIKE, windows

LEAST_STEPS = 40
"""Steps that a series must have for a trend."""

BLOCKS = 20
"""A trend is looked for in the medians of that many blocks of steps, because neighbouring steps resemble each other."""

LEAST_SCORE = 4.5
"""Standard score of the test by Mann and Kendall from which there is a trend; that of 20 blocks in order is 6.1."""

LEAST_SPIKES = 4
"""Spikes that there must be for them to be regular."""

REGULAR = 0.8
"""The part of the spikes that must lie on a grid of steps, and of the grid that must be spikes."""

LEAST_APART, LEAST_SIDE, LEAST_SWITCHES = 6.0, 0.15, 6
"""Two levels are so many deviations within them apart, each has this part of the steps, and they take turns so often.
Halves of normal, uniform or exponential noise are 2.5 to 3.5 deviations apart."""

_MOST_AUTOCORRELATION = 0.9
_DIFFERENCE_TO_SD = 1.048  # of the median absolute difference of two normal values


def trend_of(values: Sequence[float]) -> tuple[float, float] | None:
    """First and last value of the line through a series that rises or falls all the time; None without such a trend.

    Tested by Mann and Kendall's rank test, its variance enlarged for the autocorrelation that the line leaves.
    """
    if len(values) < LEAST_STEPS:
        return None
    points = _blocks(values)
    slopes = _slopes(points)
    slope = median(slopes)
    score = sum((value > 0) - (value < 0) for value in slopes)
    rest = _without(slope, points)
    correlation = _autocorrelation(rest)
    variance = BLOCKS * (BLOCKS - 1) * (2 * BLOCKS + 5) / 18 * (1 + correlation) / (1 - correlation)
    return _ends(slope, rest) if abs(score) >= LEAST_SCORE * math.sqrt(variance) else None


def line_of(values: Sequence[float]) -> tuple[float, float]:
    """First and last value of the line through a series, of ``BLOCKS`` values or more, whether or not it has a trend.

    It has the median slope of all pairs (Theil and Sen).
    """
    points = _blocks(values)
    slope = median(_slopes(points))
    return _ends(slope, _without(slope, points))


def _without(slope: float, points: Sequence[float]) -> list[float]:
    """What a line of this slope leaves of the points."""
    return [point - slope * place for place, point in enumerate(points)]


def _ends(slope: float, rest: Sequence[float]) -> tuple[float, float]:
    """First and last value of the line, from what it leaves of the points."""
    start = median(rest)
    return start - slope / 2, start + slope * (BLOCKS - 0.5)


def _blocks(values: Sequence[float]) -> list[float]:
    """The medians of ``BLOCKS`` blocks."""
    edges = [len(values) * block // BLOCKS for block in range(BLOCKS + 1)]
    return [median(values[start:stop]) for start, stop in pairwise(edges)]


def _slopes(points: Sequence[float]) -> list[float]:
    """Those of all pairs of points."""
    return [(b - a) / (j - i) for (i, a), (j, b) in combinations(enumerate(points), 2)]


def _autocorrelation(values: Sequence[float]) -> float:
    """That of neighbours; 0 if it is negative."""
    centre = fmean(values)
    square = math.fsum((value - centre) ** 2 for value in values)
    product = math.fsum((a - centre) * (b - centre) for a, b in pairwise(values))
    return min(max(product / square, 0.0), _MOST_AUTOCORRELATION) if square else 0.0


def spikes_of(values: Sequence[float], least: float) -> list[int]:
    """Positions whose values exceed the median of those around them by more than ``least`` and stand out of the noise.

    The noise is told by the median of the differences, which many spikes hardly move.
    """
    differences = [abs(after - before) for before, after in pairwise(values)]
    reach = max(least, SPIKE * _DIFFERENCE_TO_SD * median(differences)) if differences else least
    around = zip(values, windows(values), strict=True)
    return [place for place, (value, window) in enumerate(around) if value - median(window) > reach]


def upper_level(values: Sequence[float], least: float) -> list[int]:
    """Positions of the values of the upper of two levels; empty if there are not two.

    The split is that of least squares, and the distance of the levels is Ashman's D.

    Args:
        least: the distance that the levels must have at least.
    """
    order = sorted(values)
    count = len(order)
    side = max(math.ceil(LEAST_SIDE * count), 3)
    if count < LEAST_STEPS // 2:
        return []
    sums = [0.0, *accumulate(order)]

    def between(place: int) -> float:
        low, high = sums[place] / place, (sums[-1] - sums[place]) / (count - place)
        return place * (count - place) * (high - low) ** 2

    place = max(range(side, count - side + 1), key=between)
    low, high = order[:place], order[place:]
    apart = fmean(high) - fmean(low)
    deviation = math.sqrt((variance(low) + variance(high)) / 2)
    upper = [position for position, value in enumerate(values) if value >= high[0]]
    switches = sum((a >= high[0]) != (b >= high[0]) for a, b in pairwise(values))
    is_apart = apart >= least and apart > LEAST_APART * deviation and low[-1] < high[0]
    return upper if is_apart and switches >= LEAST_SWITCHES else []


def period_of(steps: Sequence[int], first: int, last: int) -> int | None:
    """The number of steps after which steps recur; None if they are irregular.

    Args:
        steps: in order.
        first, last: the range of all steps.
    """
    if len(steps) < LEAST_SPIKES:
        return None
    gaps = Counter(after - before for before, after in pairwise(sorted(set(steps))))
    period = max(gaps, key=lambda gap: (gaps[gap], -gap))
    place, hits = Counter(step % period for step in steps).most_common(1)[0]
    slots = (last - place) // period - (first - 1 - place) // period
    return period if period > 1 and hits >= REGULAR * len(steps) and hits >= REGULAR * slots else None
