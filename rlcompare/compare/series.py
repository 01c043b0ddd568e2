"""The metrics of each run step by step (``Diff.series``), thinned so that a document stays small and loses no spike."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rlcompare.compare.records import RunSeries
from rlcompare.metrics import entry
from rlcompare.model.diff import Series

MOST_POINTS = 500
"""Maximum number of points of a series."""

ALL_POINTS = 40_000
"""Maximum number of points of all series together, unless even ``LEAST_POINTS`` of each are more."""

LEAST_POINTS = 50

MOST_SERIES = 8_000
"""Beyond this number, those of metrics that the catalogue does not know are left out first."""


def thinned_series(series: Sequence[RunSeries]) -> tuple[Series, ...]:
    """All series, each with as many points as their number allows."""
    if len(series) > MOST_SERIES:
        known = {name: entry(name) is not None for name in {one.name for one in series}}
        places = sorted(range(len(series)), key=lambda place: not known[series[place].name])
        series = [series[place] for place in sorted(places[:MOST_SERIES])]
    most = max(LEAST_POINTS, min(MOST_POINTS, ALL_POINTS // max(len(series), 1)))
    made = []
    for one in series:
        places = kept(one.amounts, most)
        steps, values = tuple(one.steps[at] for at in places), tuple(_rounded(one.amounts[at]) for at in places)
        left_out = set(one.left_out).intersection(steps)
        made.append(Series(one.name, one.side, one.run, len(one.steps), steps, values, tuple(sorted(left_out))))
    return tuple(made)


def kept(values: Sequence[float], most: int) -> list[int]:
    """Positions of at most ``most`` values: in each of ``most`` / 2 equal parts, the lowest and the highest."""
    if len(values) <= most:
        return list(range(len(values)))
    parts = most // 2
    edges = [len(values) * part // parts for part in range(parts + 1)]
    found: set[int] = set()
    for start, stop in itertools.pairwise(edges):
        part = values[start:stop]
        found |= {start + part.index(min(part)), start + part.index(max(part))}
    return sorted(found)


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")
