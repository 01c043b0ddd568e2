"""How much runs of one environment differ by luck: what a gate with few runs may assume instead of ``noise``."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean

from rlcompare.compare.estimate import Spread
from rlcompare.history.changes import headline_alpha, levels_of_series
from rlcompare.history.place import Place
from rlcompare.history.records import Series
from rlcompare.history.store import load

LEAST_RUNS = 5
"""With fewer runs the spread is not told."""


def run_spread(history: Place, metric: str, environment: str) -> Spread | None:
    """The spread of a metric between the runs of an environment; None: too few runs, or values that are not positive.

    It is the standard deviation of the natural logarithm of the metric within stretches of one level. Slow runs count:
    they will come again. Changes of level do not.

    Args:
        environment: ``environment.environment_of`` the settings of the runs to be judged.

    Raises:
        InputError: there is no history, or it cannot be read.
    """
    found = load(history, metrics=[metric]).series
    series = next((one for one in found if one.environment == environment and one.metric == metric), None)
    return None if series is None else spread_of(series)


def spread_of(series: Series) -> Spread | None:
    """The spread of a series; None: too few runs, or values that are not positive."""
    numbers, levels = levels_of_series(series, headline_alpha())
    values = series.values[-len(numbers) :]
    # A change costs a degree of freedom for its level and one for its place.
    degrees = len(values) - 1 - 2 * (len(levels) - 1)
    if degrees < LEAST_RUNS - 1 or min(values) <= 0:
        return None
    logs = [math.log(value) for value in values]
    bounds = [*(level.start for level in levels), len(values)]
    squares = math.fsum((log - fmean(logs[a:b])) ** 2 for a, b in pairwise(bounds) for log in logs[a:b])
    return Spread(math.sqrt(squares / degrees), degrees, f"the history of {len(values)} runs")
