"""Where the level of a series changes: pure functions over the values of one metric, step by step.

Steps differ by chance, single steps are spikes, and neighbouring steps resemble each other. A change of level is
reported only if all of this holds:

1. The best partition of the series into levels begins a new one there. "Best" is exact: the least sum of squares plus
   a penalty per change, by dynamic programming with pruning (PELT, Killick et al. 2012). Spikes are cut off before.
   The penalty grows with the noise and with the autocorrelation, both estimated from differences, which a change of
   level hardly moves (Chakar et al. 2017).
2. It is a jump: the steps just before and just after differ by ``LEAST_JUMP`` times as much as the same comparison
   typically gives elsewhere in the run. A trend, or a metric that wanders, has such differences everywhere.
3. It is sudden, and nearly all values after it lie beyond nearly all values before.

In simulated series without a change (normal, skewed and heavy-tailed noise with an autocorrelation of −0.3 to 0.5, 5 %
spikes, trends; 16 to 300 steps) at most one in 1,000 has a false one (``tests/unit/test_onset.py``).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise, takewhile
from statistics import fmean, median
from typing import NamedTuple

LEAST_STEPS = 16
"""Steps that a series must have."""

LEAST_LEVEL = 5
"""Steps that a level must last."""

MOST_POINTS = 400
"""Longer series are compared by medians of blocks; the step of a change is then found among single steps."""

PENALTY = 18.0
"""Cost of a change, in units of the long-run variance of the noise."""

LEAST_JUMP = 5.0
"""A jump must be this many times the typical difference of neighbouring windows."""

LEAST_APART = 0.9
"""Of all pairs of a value of the new level and one of the level before, the part that must differ in one direction."""

LEAST_ABRUPT = 0.6
"""The part of a change of level by which the ``LEAST_LEVEL`` steps after it must differ from those before."""

SPIKE = 4.0
"""Standard deviations by which a spike differs from the steps around it."""

LARGEST_DRIFT = 0.5
"""The part of a change of level by which the level before may have drifted."""

_FEW_STEPS = 8  # noise estimated from few steps is uncertain: the limit is twice as high in a series of 8, say
_REACH = 3
_MOST_HIDDEN = 2  # steps beside a change of level that spikes near it can hide
_ABS_TO_SD = math.sqrt(math.pi) / 2  # of the mean absolute difference of two normal values
_MEDIAN_TO_SD = 1.4826  # of the median absolute value of a normal distribution
_USUAL = 0.9
_ROUNDING = 1e-12
_MOST_AUTOCORRELATION = 0.95


class Level(NamedTuple):
    """Steps of one level.

    Attributes:
        start, stop: positions in the series; ``stop`` is the first one after it.
        value: their mean without spikes.
    """

    start: int
    stop: int
    value: float


def levels_of(values: Sequence[float]) -> tuple[Level, ...]:
    """The levels of a series, in order: one if its level does not change, none if there are no values."""
    if not values:
        return ()
    size = -(-len(values) // MOST_POINTS)
    blocks = values if size == 1 else _blocks(values, size)
    points = without_spikes(blocks)
    starts = _jumps(blocks, points) if len(blocks) >= LEAST_STEPS else []
    if not starts:
        return (Level(0, len(values), fmean(points)),)
    smooth = points if size == 1 else without_spikes(values)
    if size > 1:
        starts = [_refined(smooth, start, size) for start in starts]
    starts = [_own_start(values, smooth, *beside) for beside in pairwise(_levels(smooth, starts))]
    return _levels(smooth, starts)


def without_spikes(values: Sequence[float]) -> list[float]:
    """The series with spikes of up to three steps replaced by the median of seven steps (Hampel's filter)."""
    differences = [abs(after - before) for before, after in pairwise(values)]
    reach = SPIKE * _ABS_TO_SD * fmean(differences) if differences else 0.0
    made = []
    for value, window in zip(values, windows(values), strict=True):
        near = sorted(window)[len(window) // 2]
        made.append(near if abs(value - near) > reach else value)
    return made


def windows(values: Sequence[float]) -> Iterator[Sequence[float]]:
    """The seven values around each; fewer at the ends."""
    return (values[max(0, place - _REACH) : place + _REACH + 1] for place in range(len(values)))


def partition(values: Sequence[float], penalty: float, least: int = 1) -> list[int]:
    """The starts of all levels but the first, in the partition with the least sum of squares plus penalties.

    Args:
        penalty: cost of each change of level.
        least: number of values that a level must have.
    """
    count, centre = len(values), fmean(values)
    sums = list(accumulate((value - centre for value in values), initial=0.0))
    squares = list(accumulate(((value - centre) ** 2 for value in values), initial=0.0))
    best = [-penalty] + [math.inf] * count
    before = [0] * (count + 1)
    starts: list[int] = []
    doomed: dict[int, int] = {}
    for stop in range(least, count + 1):
        starts.append(stop - least)
        total, square = sums[stop], squares[stop]
        costs = [best[s] + square - squares[s] - (total - sums[s]) ** 2 / (stop - s) for s in starts]
        least_cost = min(costs)
        best[stop] = least_cost + penalty
        before[stop] = starts[costs.index(least_cost)]
        # A start that is worse here by a whole penalty stays so; but the better one may begin a level only now.
        for start, cost in zip(starts, costs, strict=True):
            if cost > best[stop]:
                doomed.setdefault(start, stop + least)
        if doomed:
            starts = [start for start in starts if doomed.get(start, stop + 1) > stop]
    found = []
    place = before[count]
    while place:
        found.append(place)
        place = before[place]
    return found[::-1]


def _jumps(values: Sequence[float], points: Sequence[float]) -> list[int]:
    """The positions at which the level of the points jumps. ``values``: the same with their spikes."""
    jumps = _Jumps(points)
    variance = _variance(points, jumps.largest)
    limit = LEAST_JUMP * (1 + _FEW_STEPS / len(points))
    if abs(jumps.size(jumps.largest)) <= limit * math.sqrt(variance):
        return []
    found = partition(points, PENALTY * variance, LEAST_LEVEL)
    while True:
        bounds = [0, *found, len(points)]
        levels = zip(bounds, found, bounds[2:], strict=False)
        rest = [
            at
            for left, at, right in levels
            if jumps.stands_out(at, limit, math.sqrt(variance))
            and _is_abrupt(points[left:at], points[at:right])
            and _is_apart(values[left:at], values[at:right])
        ]
        if rest == found:
            return found
        found = rest


class _Jumps:
    """The difference between the points after and before each position, in units of the noise of that comparison."""

    def __init__(self, points: Sequence[float]) -> None:
        self._width = min(max(LEAST_LEVEL, len(points) // 10), 20)
        self._places = range(LEAST_LEVEL, len(points) - LEAST_LEVEL + 1)
        sums = list(accumulate((point - points[0] for point in points), initial=0.0))
        self._sizes = []
        for at in self._places:
            low, high = max(0, at - self._width), min(len(points), at + self._width)
            before, after = (sums[at] - sums[low]) / (at - low), (sums[high] - sums[at]) / (high - at)
            self._sizes.append((after - before) / math.sqrt(1 / (at - low) + 1 / (high - at)))
        self.largest = max(self._places, key=lambda at: abs(self.size(at)))

    def size(self, at: int) -> float:
        return self._sizes[at - LEAST_LEVEL]

    def stands_out(self, at: int, limit: float, noise: float) -> bool:
        """Whether the jump at a position is large compared with the noise, and with the rest of the run."""
        pairs = zip(self._places, self._sizes, strict=True)
        others = [abs(size) for place, size in pairs if abs(place - at) >= self._width]
        typical = _MEDIAN_TO_SD * median(others) if others else 0.0
        return abs(self.size(at)) > limit * max(noise, typical)


def _is_abrupt(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether most of the change is made within few steps, and not by a drift."""
    change, half = fmean(after) - fmean(before), len(before) // 2
    jump = fmean(after[:LEAST_LEVEL]) - fmean(before[-LEAST_LEVEL:])
    drift = median(before[half:]) - median(before[:half])
    return jump / change > LEAST_ABRUPT and abs(drift / change) < LARGEST_DRIFT if change else False


def _is_apart(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether nearly all values of a level lie beyond those of the level before."""
    ranked = sorted(before)
    above = sum(bisect_left(ranked, value) + bisect_right(ranked, value) for value in after)
    share = above / (2 * len(before) * len(after))
    return max(share, 1 - share) >= LEAST_APART


def _variance(points: Sequence[float], jump: int) -> float:
    """The long-run variance of the noise: n times the variance of the mean of n points.

    In a first-order autoregression, differences over two steps are √(1 + correlation) times as large as those over one.

    Args:
        jump: where the level may jump; differences over it do not count.
    """
    one, two = (
        [abs(points[at + lag] - points[at]) for at in range(len(points) - lag) if not at < jump <= at + lag]
        for lag in (1, 2)
    )
    usual = [fmean(sorted(found)[: math.ceil(_USUAL * len(found))]) for found in (one, two)]
    apart = min(usual[1] / usual[0], 2.0) if usual[0] else 1.0
    correlation = min(max(apart**2 - 1, 0.0), _MOST_AUTOCORRELATION)
    noise = max(_ABS_TO_SD * fmean(one), _ROUNDING * max(map(abs, points)))
    return noise**2 * (1 + correlation) / (1 - correlation) ** 2


def _levels(smooth: Sequence[float], starts: Sequence[int]) -> tuple[Level, ...]:
    bounds = [0, *starts, len(smooth)]
    return tuple(Level(a, b, fmean(smooth[a:b])) for a, b in pairwise(bounds))


def _own_start(values: Sequence[float], smooth: list[float], before: Level, after: Level) -> int:
    """The start of a level. Its place in the smooth series may be wrong if there is a spike near it.

    Steps between a spike and a change of level look like a spike themselves, and the filter gives them the other level.
    They get their values back here.
    """
    half, start = abs(after.value - before.value) / 2, after.start

    def hidden(places: Iterable[int], level: Level) -> list[int]:
        return list(takewhile(lambda at: smooth[at] != values[at] and abs(values[at] - level.value) < half, places))

    late = hidden(range(start, start + _MOST_HIDDEN), before)
    early = [] if late else hidden(range(start - 1, start - 1 - _MOST_HIDDEN, -1), after)
    for at in late + early:
        smooth[at] = values[at]
    return start + len(late) - len(early)


def _blocks(values: Sequence[float], size: int) -> list[float]:
    """Medians of blocks of ``size`` values; the last may be shorter."""
    return [median(values[start : start + size]) for start in range(0, len(values), size)]


def _refined(values: Sequence[float], block: int, size: int) -> int:
    """The step at which a level begins, near the start of a block."""
    low, high = max(0, (block - LEAST_LEVEL) * size), min(len(values), (block + LEAST_LEVEL) * size)
    near = values[low:high]
    sums = list(accumulate((value - near[0] for value in near), initial=0.0))
    inner = range(max(1, (block - 1) * size - low), min(len(near), (block + 1) * size - low))

    def gain(at: int) -> float:
        return sums[at] ** 2 / at + (sums[-1] - sums[at]) ** 2 / (len(near) - at)

    return low + max(inner, key=gain)
