"""A metric over the steps of a side: one line for its runs, and a band for how far they are apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median, quantiles
from typing import NamedTuple

from rlcompare.compare.series import kept
from rlcompare.model.diff import Series
from rlcompare.report.charts.axis import Axis
from rlcompare.report.charts.marks import place

MOST_POINTS = 240
"""Maximum number of points of a line."""

ENOUGH_RUNS = 8
"""Runs from which the band leaves out the highest and the lowest tenth."""

_GAP = 4.0
"""Steps that are missing interrupt a line if the gap is this many times the usual distance."""


class Point(NamedTuple):
    """A step, or several neighbouring ones: the median over runs, and the ends of the band; None with one run."""

    step: float
    value: float
    low: float | None = None
    high: float | None = None


class Course(NamedTuple):
    """The points of a side, in order; ``runs`` is the number of runs."""

    points: tuple[Point, ...]
    runs: int

    def values(self) -> Iterable[float]:
        """All values that are drawn."""
        for point in self.points:
            yield from (value for value in (point.value, point.low, point.high) if value is not None)


def course_of(series: Sequence[Series]) -> Course:
    """The course of the runs of one side."""
    runs = [
        [(step, value) for step, value in zip(one.steps, one.values, strict=True) if math.isfinite(value)]
        for one in series
    ]
    runs = [run for run in runs if run]
    if len(runs) < 2:
        points = runs[0] if runs else []
        chosen = {*kept([value for _, value in points], MOST_POINTS), 0, len(points) - 1} if points else ()
        return Course(tuple(Point(*points[at]) for at in sorted(chosen)), len(runs))
    whole = all(one.logged == len(one.steps) for one in series)
    tenths = len(runs) >= ENOUGH_RUNS
    return Course(tuple(_point(found, tenths=tenths) for found in _by_step(runs, whole=whole)), len(runs))


def _by_step(runs: Sequence[Sequence[tuple[int, float]]], *, whole: bool) -> list[list[tuple[int, float]]]:
    """The points of all runs, those of one step together; of neighbouring steps, if there are many or they differ."""
    points = sorted(point for run in runs for point in run)
    first, last = points[0][0], points[-1][0]
    width = 1 if whole and last - first < MOST_POINTS else (last - first + 1) / MOST_POINTS * (1 if whole else 4)
    found: dict[int, list[tuple[int, float]]] = {}
    for step, value in points:
        found.setdefault(int((step - first) / width), []).append((step, value))
    return list(found.values())


def _point(found: Sequence[tuple[int, float]], *, tenths: bool) -> Point:
    values = sorted(value for _, value in found)
    low, high = values[0], values[-1]
    if tenths and len(values) > 1:
        low, *_, high = quantiles(values, n=10, method="inclusive")
    return Point(median(step for step, _ in found), median(values), low, high)


def line_of(course: Course, numbers: Axis, heights: Axis) -> str:
    """The line as a path; points without neighbours are dots."""
    return "".join(
        "M" + "L".join(place(point.step, point.value, numbers, heights) for point in part)
        + ("h0" if len(part) == 1 else "")
        for part in _parts(course.points)
    )  # fmt: skip


def band_of(course: Course, numbers: Axis, heights: Axis) -> str:
    """The band as a path; empty for one run."""
    if course.runs < 2:
        return ""
    made = []
    for part in _parts(course.points):
        there = [place(point.step, point.high or 0.0, numbers, heights) for point in part]
        back = [place(point.step, point.low or 0.0, numbers, heights) for point in reversed(part)]
        made.append(f"M{'L'.join(there + back)}Z")
    return "".join(made)


def _parts(points: Sequence[Point]) -> list[list[Point]]:
    """The points, split where steps are missing."""
    if not points:
        return []
    steps = [there.step - here.step for here, there in pairwise(points)]
    usual = max(median(steps), sum(steps) / len(steps)) if steps else 1.0
    parts = [[points[0]]]
    for distance, point in zip(steps, points[1:], strict=True):
        if distance > _GAP * usual:
            parts.append([])
        parts[-1].append(point)
    return parts
