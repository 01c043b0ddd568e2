"""Where the level of a metric changes from run to run: pure functions over one value per run, in order of start.

Runs differ by chance, and some are slow for other reasons. ``compare.onset`` looks for changes within a run, where
there are hundreds of steps that resemble their neighbours. Between runs there are few values, but if nothing changes,
any order of them is as likely as another. So the odds are exact for any distribution of the noise, outliers included:

1. Each stretch of runs is tested against the rest of the series (Mann-Whitney U), first those that reach to one of its
   ends (one change), then those inside (a change and its end, as in circular binary segmentation, Olshen et al. 2004).
   The smallest odds, times the number of stretches that could be told at all, must be below ``alpha``.
2. The odds are made worse by as much as runs resemble those before them: then not all orders are equally likely. The
   resemblance is the autocorrelation around the levels of the best partition (``compare.onset``).
3. The rest on both sides is searched likewise.
4. Each change is then placed where the two levels beside it fit best (least squares; outliers count as three
   deviations).
5. A change is gradual if the levels beside it drift by most of their difference, or a straight line fits better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations, pairwise
from itertools import count as count_from
from statistics import median

from rlcompare.compare.onset import partition, without_spikes
from rlcompare.history.ranks import RankSums, least_odds

LEAST_LEVEL = 3
"""Runs that a level must last."""

LEAST_APART = 0.7
"""Of all pairs of a run of one level and one of the next, the part that must differ in one direction."""

AT_ENDS = 0.5
"""The part of ``alpha`` for changes without an end; the rest is for stretches inside the series."""

MOST_DRIFT = 0.75
"""The part of the difference between two levels by which both together may drift."""

_CUT = 3.0  # standard deviations
_MOST_ROUNDS = 8
_MOST_CORRELATION = 0.95
_USUAL = 0.9
_BY_LUCK = 0.5  # of the standard error of an autocorrelation
_PENALTY = 18.0  # of a change, in variances of the noise
_ABS_TO_SD = math.sqrt(math.pi) / 2  # of the mean absolute difference of two normal values
_MEDIAN_TO_SD = 1.4826  # of the median absolute value of a normal distribution


@dataclass(frozen=True)
class Level:
    """Runs of one level.

    Attributes:
        start, stop: positions in the series; ``stop`` is the first one after it.
        value: their median.
        gradual: the metric did not jump to this level, but drifted towards it.
    """

    start: int
    stop: int
    value: float
    gradual: bool = False


def levels_of(values: Sequence[float], alpha: float, least_change: float = 0.0) -> tuple[Level, ...]:
    """The levels of a series, in order: one if its level does not change, none if there are no values.

    Args:
        alpha: the chance of more than one level if all orders of the values are equally likely.
        least_change: smaller differences of neighbouring levels, as a fraction of the first, are not changes.
    """
    if not values:
        return ()
    cuts = _placed(values, sorted(_found(values, 0, len(values), alpha)))
    cuts = _kept(values, cuts, least_change)
    bounds = [0, *cuts, len(values)]
    medians = [median(values[a:b]) for a, b in pairwise(bounds)]
    gradual = _gradual(values, bounds, medians)
    return tuple(
        Level(a, b, value, drifts) for (a, b), value, drifts in zip(pairwise(bounds), medians, gradual, strict=True)
    )


def moves_at(values: Sequence[float], cut: int, alpha: float, least_change: float = 0.0) -> bool:
    """Whether the level changes at a place that another metric gave: fewer runs can tell that than find the place.

    Args:
        alpha, least_change: as for ``levels_of``, for this place alone.
    """
    if min(cut, len(values) - cut) < LEAST_LEVEL:
        return False
    found = RankSums(values).odds(cut, len(values))
    return _stands_out(found, alpha, values, (cut,)) and _is_apart(values[:cut], values[cut:], least_change)


def fewest_after(count: int, alpha: float) -> int | None:
    """Of so many runs, the number that must be of a new level for it to be found; None: no change can be found.

    The clearest change is meant: its runs are beyond all before. With noise or slow runs it takes more.
    """
    places = _end_places(count, alpha)
    return count - places[-1] if places else None


def runs_needed(alpha: float) -> int:
    """The number of runs from which on a change can be found."""
    return next(number for number in count_from(2 * LEAST_LEVEL) if _end_places(number, alpha))


def _found(values: Sequence[float], start: int, stop: int, alpha: float) -> list[int]:
    """The positions in ``start:stop`` at which the level changes."""
    part = values[start:stop]
    cuts = [start + cut for cut in _first_cuts(part, alpha)]
    if not cuts:
        return []
    bounds = [start, *cuts, stop]
    return [*cuts, *(cut for low, high in pairwise(bounds) for cut in _found(values, low, high, alpha))]


def _first_cuts(values: Sequence[float], alpha: float) -> tuple[int, ...]:
    """The one or two ends of the stretch that stands out most from the rest; empty if none does."""
    count = len(values)
    ends = _end_places(count, alpha)
    if not ends:
        return ()
    ranks = RankSums(values)
    found, chosen = min((ranks.odds(place, count), place) for place in ends)
    if _stands_out(found, AT_ENDS * alpha / len(ends), values, (chosen,)):
        return (chosen,)
    inner = _inner_stretches(count, alpha)
    if not inner:
        return ()
    found, stretch = min((ranks.odds(*stretch), stretch) for stretch in inner)
    return stretch if _stands_out(found, (1 - AT_ENDS) * alpha / len(inner), values, stretch) else ()


def _end_places(count: int, alpha: float) -> list[int]:
    """The positions at which one change could be told."""
    places = range(LEAST_LEVEL, count - LEAST_LEVEL + 1)
    return [place for place in places if least_odds(place, count - place) * len(places) <= AT_ENDS * alpha]


def _inner_stretches(count: int, alpha: float) -> list[tuple[int, int]]:
    """The stretches with other runs before and after them that could be told."""
    places = range(LEAST_LEVEL, count - LEAST_LEVEL + 1)
    pairs = [(start, stop) for start, stop in combinations(places, 2) if stop - start >= LEAST_LEVEL]
    lengths = {stop - start for start, stop in pairs}
    told = {n for n in lengths if least_odds(n, count - n) * len(pairs) <= (1 - AT_ENDS) * alpha}
    return [pair for pair in pairs if pair[1] - pair[0] in told]


def _stands_out(odds: float, limit: float, values: Sequence[float], cuts: Sequence[int]) -> bool:
    """Whether the odds are below the limit also if runs resemble those before them: as if there were fewer runs."""
    if odds > limit:
        return False
    alone = min(_around_levels(values, cuts), _around_line(values), key=_misfit)
    correlation = min(_autocorrelation(alone, 0), _autocorrelation(*_around_all_levels(values)))
    return math.pow(odds, (1 - correlation) / (1 + correlation)) <= limit


def _autocorrelation(rest: Sequence[float], cuts: int) -> float:
    """That of differences from levels or a line, less half its standard error.

    Args:
        cuts: number of changes that were fitted. Each lowers it.
    """
    rest = _without_outliers(rest)
    squares = math.fsum(value * value for value in rest)
    if not squares:
        return 0.0
    found = math.fsum(one * two for one, two in pairwise(rest)) / squares
    return min(max(found + cuts / len(rest) - _BY_LUCK / math.sqrt(len(rest)), 0.0), _MOST_CORRELATION)


def _around_all_levels(values: Sequence[float]) -> tuple[list[float], int]:
    """The differences from the levels of the best partition, and its number of changes.

    Around fewer levels than there are, runs seem to resemble those before them.
    """
    points = without_spikes(values)
    apart = sorted(abs(after - before) for before, after in pairwise(points))
    usual = apart[: math.ceil(_USUAL * len(apart))]  # those over changes are left out
    noise = _ABS_TO_SD * math.fsum(usual) / len(usual)
    cuts = partition(points, _PENALTY * noise**2, LEAST_LEVEL)
    parts = [values[a:b] for a, b in pairwise([0, *cuts, len(values)])]
    return [value - centre for part in parts for centre in [median(part)] for value in part], len(cuts)


def _around_levels(values: Sequence[float], cuts: Sequence[int]) -> list[float]:
    """The differences of values from the medians of their levels; with two cuts, the outer values are of one level."""
    first, last = cuts[0], cuts[-1] if len(cuts) > 1 else len(values)
    inner = median(values[first:last])
    outer = median([*values[:first], *values[last:]])
    return [value - (inner if first <= place < last else outer) for place, value in enumerate(values)]


def _around_line(values: Sequence[float]) -> list[float]:
    """The differences of values from a straight line through them (Theil-Sen)."""
    slope = _slope(values)
    middle = median(value - slope * place for place, value in enumerate(values))
    return [value - middle - slope * place for place, value in enumerate(values)]


def _slope(values: Sequence[float]) -> float:
    """The median slope between all pairs of values."""
    return median((values[b] - values[a]) / (b - a) for a, b in combinations(range(len(values)), 2))


def _misfit(rest: Sequence[float]) -> float:
    return math.fsum(map(abs, rest))


def _without_outliers(rest: Sequence[float]) -> list[float]:
    """Differences from a level, cut off at three standard deviations."""
    most = _CUT * _MEDIAN_TO_SD * median(map(abs, rest))
    return [min(max(value, -most), most) for value in rest] if most else list(rest)


def _placed(values: Sequence[float], cuts: list[int]) -> list[int]:
    """The same changes, each where the levels beside it fit best."""
    for number, cut in enumerate(cuts):
        low = cuts[number - 1] if number else 0
        high = cuts[number + 1] if number + 1 < len(cuts) else len(values)
        cuts[number] = low + _best_cut(values[low:high], cut - low)
    return cuts


def _best_cut(values: Sequence[float], cut: int) -> int:
    """The position at which one level fits the values before best, and another those after; starts from ``cut``.

    The misfit is the squared difference from the median of the level, up to that of an outlier.
    """
    for _ in range(_MOST_ROUNDS):
        before, after = median(values[:cut]), median(values[cut:])
        rest = [abs(value - (before if place < cut else after)) for place, value in enumerate(values)]
        most = _CUT * _MEDIAN_TO_SD * median(rest) or abs(after - before) / 2
        gains = [min(abs(value - before), most) ** 2 - min(abs(value - after), most) ** 2 for value in values]
        sums = list(accumulate(gains, initial=0.0))  # of the values that would belong to the level before
        best = min(range(LEAST_LEVEL, len(values) - LEAST_LEVEL + 1), key=lambda at: (sums[at], abs(at - cut)))
        if best == cut:
            break
        cut = best
    return cut


def _kept(values: Sequence[float], cuts: list[int], least_change: float) -> list[int]:
    """The changes between levels that are apart."""
    while True:
        bounds = [0, *cuts, len(values)]
        kept = [
            at
            for left, at, right in zip(bounds, cuts, bounds[2:], strict=False)
            if _is_apart(values[left:at], values[at:right], least_change)
        ]
        if kept == cuts:
            return cuts
        cuts = _placed(values, kept)


def _is_apart(before: Sequence[float], after: Sequence[float], least_change: float) -> bool:
    ranks = RankSums([*before, *after])
    share = 1 - ranks.wrong(0, len(before)) / (len(before) * len(after))
    old, new = median(before), median(after)
    return share >= LEAST_APART and abs(new - old) > least_change * abs(old)


def _gradual(values: Sequence[float], bounds: Sequence[int], medians: Sequence[float]) -> list[bool]:
    """For each level, whether the metric drifted to it.

    It did if the two levels themselves drift by most of their difference, or if a straight line fits all levels
    that follow each other in one direction better than they do.
    """
    if len(medians) == 1:
        return [False]
    drifts = [_slope(values[a:b]) * (b - a) for a, b in pairwise(bounds)]
    rises = [new - old for old, new in pairwise(medians)]
    gradual = [
        False,
        *((one + two) / rise > MOST_DRIFT for one, two, rise in zip(drifts, drifts[1:], rises, strict=False)),
    ]
    first = 0
    while first < len(rises):
        last = first
        while last + 1 < len(rises) and (rises[last + 1] > 0) == (rises[first] > 0):
            last += 1
        part = values[bounds[first] : bounds[last + 2]]
        steps = [
            value - middle
            for (a, b), middle in zip(pairwise(bounds[first : last + 3]), medians[first : last + 2], strict=True)
            for value in values[a:b]
        ]
        if _misfit(_around_line(part)) < _misfit(steps):
            gradual[first + 1 : last + 2] = [True] * (last - first + 1)
        first = last + 1
    return gradual
