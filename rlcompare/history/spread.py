"""How much runs of one environment differ by chance: what a gate with few runs may assume instead of ``noise``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import correlation, fmean

from rlcompare.compare.estimate import Spread, least_odds
from rlcompare.history.changes import LEAST_CHANGE, headline_alpha, levels_of_series
from rlcompare.history.environment import environment_in
from rlcompare.history.place import Place
from rlcompare.history.records import Series
from rlcompare.history.store import load

LEAST_RUNS = 5
"""With fewer runs the spread is not estimated."""

MOST = 0.5
"""The part of all squares that an unconfirmed jump must explain."""

STANDS_OUT = 18.0
"""What it must explain, in variances of what it leaves: more than four standard deviations."""

BY_LUCK = 0.02
"""The odds below which the order of the runs says that it is a jump, and not a few slow runs."""


def series_of(history: Place, metrics: Sequence[str], settings: Mapping[str, str]) -> list[Series]:
    """The series of metrics over the runs of an environment.

    Args:
        settings: versions and settings of the runs to be judged, as in ``Diff.baseline.env``.

    Raises:
        InputError: there is no history, or it cannot be read.
    """
    found = load(history, metrics=metrics)
    environment = environment_in(found.configurations, settings)
    return [one for one in found.series if one.environment == environment]


def spread_of(series: Series) -> Spread | None:
    """The spread of a series; None: it is unknown, or a change is still in doubt.

    It is unknown with too few runs, with values that are not positive, and with equal ones: scores move in steps.

    It is the standard deviation of the natural logarithm of the metric within stretches of one level. Slow runs count:
    they will come again. Changes of level do not, nor does a jump that is too recent for the search to confirm.
    """
    numbers, levels = levels_of_series(series, headline_alpha())
    values = series.values[-len(numbers) :]
    if not values or min(values) <= 0:
        return None
    logs = [math.log(value) for value in values]
    bounds = [*(level.start for level in levels), len(values)]
    parts = [logs[a:b] for a, b in pairwise(bounds)]
    doubt = _unconfirmed(parts)
    if doubt is not None:
        if not _is_no_luck(len(parts[-1]), doubt):
            return None
        parts[-1:] = [parts[-1][:doubt], parts[-1][doubt:]]
    # A change costs a degree of freedom for its level and one for its place.
    degrees = len(values) - 1 - 2 * (len(parts) - 1)
    if degrees < LEAST_RUNS - 1:
        return None
    if all(min(part) == max(part) for part in parts):
        return None
    return Spread(math.sqrt(math.fsum(map(_squares, parts)) / degrees), degrees, f"the history of {len(values)} runs")


def _unconfirmed(parts: Sequence[Sequence[float]]) -> int | None:
    """Where the last level seems to jump, although the search for changes has too few runs to be sure.

    It is the split that leaves the smallest squares, if it explains most of all squares and stands out from what it
    leaves, better than a drift does. The first run alone is none: slow for a reason of its own, it stays so for ever.
    """
    last = parts[-1]
    before, all_squares = _squares(last), math.fsum(map(_squares, parts))
    if len(last) < LEAST_RUNS or min(last) == max(last):
        return None
    left, cut = min((_squares(last[:at]) + _squares(last[at:]), at) for at in range(1, len(last)))
    gain, rest = before - left, all_squares - before + left
    degrees = sum(map(len, parts)) - 2 * len(parts)
    small = abs(fmean(last[cut:]) - fmean(last[:cut])) < LEAST_CHANGE
    if cut == 1 or small or gain < MOST * all_squares or gain * max(degrees, 1) < STANDS_OUT * rest:
        return None
    return None if correlation(range(len(last)), last) ** 2 * before >= gain else cut


def _is_no_luck(count: int, cut: int) -> bool:
    """Whether the runs after the cut would rarely be the largest, or the smallest, if any order were as likely."""
    return 2 * least_odds(cut, count - cut) <= BY_LUCK


def _squares(logs: Sequence[float]) -> float:
    mean = fmean(logs)
    return math.fsum((log - mean) ** 2 for log in logs)
