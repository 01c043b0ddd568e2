"""How much runs of one environment differ by luck, for the gate (docs/gate.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from rlcompare.history.changes import headline_alpha, levels_of_series
from rlcompare.history.environment import environment_of
from rlcompare.history.place import Place
from rlcompare.history.records import Series
from rlcompare.history.store import load

LEAST_RUNS = 5
"""With fewer runs the spread is not told."""


@dataclass(frozen=True)
class Spread:
    """The spread of a metric between runs.

    Attributes:
        sd: standard deviation of the natural logarithm of its values within flat stretches.
        degrees: degrees of freedom of ``sd``.
        runs: number of runs that it is of.
    """

    sd: float
    degrees: int
    runs: int


def run_spread(history: Place, metric: str, environment: str) -> Spread | None:
    """The spread of a metric in the history of an environment; None: too few runs, or values that are not positive.

    Slow runs count: they will come again. Changes of level do not.

    Args:
        environment: from ``environment_of``, of the settings of the runs to be judged.

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
    if len(values) < LEAST_RUNS or degrees < LEAST_RUNS - 1 or min(values) <= 0:
        return None
    logs = [math.log(value) for value in values]
    bounds = [*(level.start for level in levels), len(values)]
    squares = math.fsum((log - fmean(logs[a:b])) ** 2 for a, b in pairwise(bounds) for log in logs[a:b])
    return Spread(math.sqrt(squares / degrees), degrees, len(values))


__all__ = ["LEAST_RUNS", "Spread", "environment_of", "run_spread", "spread_of"]
