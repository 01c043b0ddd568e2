"""The page of ``rlcompare history plot --html``: a picture per environment, with the runs and levels behind it.

Positions across are percentages, those down are pixels, so that points stay round and texts keep their size at any
width of the window.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rlcompare import __version__
from rlcompare.compare.rows import ratio
from rlcompare.history.levels import Level
from rlcompare.history.records import Run, Series
from rlcompare.history.text import commit_text, minute
from rlcompare.language import tr, trn
from rlcompare.model.digits import grouped
from rlcompare.report.cells import Cell, Column
from rlcompare.report.charts.axis import WHOLE, is_point, round_step
from rlcompare.report.table import cell_text
from rlcompare.report.tables import Table, TableRow
from rlcompare.text import safe_text

HEIGHT = 280
_TOP, _BOTTOM = 24, 12
_SIDE = 1.0
_TICKS = 4
_LABEL_PERCENT = 20.0
"""The width of a label on a narrow screen."""


@dataclass(frozen=True)
class Point:
    """A run: where it stands, and what it is."""

    x: str
    y: float
    text: str


@dataclass(frozen=True)
class Line:
    """The level of several runs."""

    start: str
    end: str
    y: float
    gradual: bool


@dataclass(frozen=True)
class Mark:
    """A change of level; the label is empty where there is no room."""

    x: str
    label: str


@dataclass(frozen=True)
class Tick:
    """A value of the axis."""

    y: float
    label: str


@dataclass(frozen=True)
class Plot:
    """A metric over the runs of an environment.

    Attributes:
        number: from 1, for anchors.
        finding: the last change; empty if there is none.
    """

    number: int
    title: str
    note: str
    finding: str
    points: tuple[Point, ...]
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    first: str
    last: str
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class HistoryView:
    """The page."""

    title: str
    version: str
    height: int
    plots: tuple[Plot, ...]


Plotted = tuple[Series, Sequence[int], Sequence[float], Sequence[Level]]
"""A series, the numbers of its runs that were searched, their values, and the levels of these."""


def history_view(plotted: Sequence[Plotted], runs: Sequence[Run]) -> HistoryView:
    """The view of series, which are of one metric each."""
    known = {run.number: run for run in runs}
    metrics = ", ".join(dict.fromkeys(safe_text(series.metric) for series, *_ in plotted))
    plots = tuple(_plot(place, *one, known) for place, one in enumerate(plotted, 1))
    return HistoryView(tr("History of {metrics}", metrics=metrics), __version__, HEIGHT, plots)


@dataclass(frozen=True)
class _Scale:
    """From a place in the series to percent of the width, and from a value to pixels from the top."""

    count: int
    low: float
    high: float

    def across(self, place: float) -> float:
        return _SIDE + (100 - 2 * _SIDE) * (place + 0.5) / self.count

    def x(self, place: float) -> str:
        return f"{self.across(place):.3f}%"

    def y(self, value: float) -> float:
        return round(_TOP + (HEIGHT - _TOP - _BOTTOM) * (self.high - value) / (self.high - self.low), 1)


def _plot(
    place: int,
    series: Series,
    numbers: Sequence[int],
    values: Sequence[float],
    levels: Sequence[Level],
    runs: Mapping[int, Run],
) -> Plot:
    ticks = _ticks(min(values), max(values))
    scale = _Scale(len(values), ticks[0], ticks[-1])
    unit = safe_text(f" {series.unit}") if series.unit else ""
    return Plot(
        number=place,
        title=safe_text(f"{series.metric} [{series.unit}]" if series.unit else series.metric),
        note=tr(
            "Environment {environment}, {count}, in the order of their start.",
            environment=safe_text(series.environment),
            count=trn("{n} run", "{n} runs", len(numbers)),
        ),
        finding=_finding(numbers, levels, unit),
        points=tuple(
            Point(
                scale.x(at),
                scale.y(value),
                ", ".join((_run_text(number), *_about(runs.get(number)), _text(value) + unit)),
            )
            for at, (number, value) in enumerate(zip(numbers, values, strict=True))
        ),
        lines=tuple(
            Line(scale.x(level.start - 0.5), scale.x(level.stop - 0.5), scale.y(level.value), level.gradual)
            for level in levels
        ),
        marks=tuple(_marks(numbers, levels, scale)),
        ticks=tuple(Tick(scale.y(tick), f"{tick:,.10g}") for tick in ticks),
        first=_run_text(numbers[0]),
        last=_run_text(numbers[-1]),
        tables=(
            _levels_table(place, numbers, levels, series.unit),
            _runs_table(place, numbers, values, levels, runs, series.unit),
        ),
    )


def _run_text(number: int) -> str:
    return tr("run {number}", number=number)


def _text(value: float) -> str:
    return cell_text(float(value), True, 40)


def _about(run: Run | None) -> tuple[str, ...]:
    """When a run started, and its commit."""
    return () if run is None else tuple(filter(None, (minute(run.started_ns), commit_text(run))))


def _ticks(low: float, high: float) -> list[float]:
    """Round values that enclose the data."""
    span = (abs(high) or 1.0) if is_point(low, high) else high - low
    step = round_step(span / _TICKS, WHOLE)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [place * step for place in range(first, max(last, first + 1) + 1)]


def _marks(numbers: Sequence[int], levels: Sequence[Level], scale: _Scale) -> Iterator[Mark]:
    """Where levels change, with a label wherever there is room for it."""
    free = 0.0
    for level in levels[1:]:
        at = scale.across(level.start - 0.5)
        label = _run_text(numbers[level.start]) if free <= at <= 100 - _LABEL_PERCENT else ""
        free = at + _LABEL_PERCENT if label else free
        yield Mark(f"{at:.3f}%", label)


def _finding(numbers: Sequence[int], levels: Sequence[Level], unit: str) -> str:
    """The last change."""
    if len(levels) < 2:
        return ""
    before, after = levels[-2:]
    values = {"before": _text(before.value), "after": _text(after.value) + unit, "change": _change(before, after)}
    if after.gradual:
        return tr("Gradually, up to run {number}: {before} → {after}{change}.", number=numbers[after.start], **values)
    return tr("Since run {number}: {before} → {after}{change}.", number=numbers[after.start], **values)


def _change(before: Level, after: Level) -> str:
    found = ratio(before.value, after.value)
    return "" if found is None else f" ({grouped(100 * (found - 1), 1, '+')} %)"


def _levels_table(place: int, numbers: Sequence[int], levels: Sequence[Level], unit: str) -> Table:
    changes = ["", *(_change(*pair).strip(" ()") for pair in pairwise(levels))]
    rows = [
        (numbers[level.start], numbers[level.stop - 1], level.stop - level.start, level.value, change)
        for level, change in zip(levels, changes, strict=True)
    ]
    columns = (
        Column("since", tr("since run"), True),
        Column("until", tr("until run"), True),
        Column("runs", tr("runs"), True),
        Column("level", tr("level"), True, unit=unit),
        Column("change", tr("change"), False),
    )
    return _table(f"levels-{place}", tr("Levels"), columns, rows)


def _runs_table(
    place: int,
    numbers: Sequence[int],
    values: Sequence[float],
    levels: Sequence[Level],
    runs: Mapping[int, Run],
    unit: str,
) -> Table:
    of_level = [level.value for level in levels for _ in range(level.start, level.stop)]
    rows = []
    for number, value, level in zip(numbers, values, of_level, strict=True):
        run = runs.get(number)
        of_run = (None, None, None) if run is None else (minute(run.started_ns), commit_text(run), run.label)
        rows.append((number, *of_run, float(value), level))
    columns = (
        Column("run", tr("run"), True),
        Column("started", tr("started (UTC)"), False),
        Column("commit", tr("commit"), False),
        Column("label", tr("label"), False),
        Column("value", tr("value"), True, unit=unit),
        Column("level", tr("level"), True, unit=unit),
    )
    return _table(f"runs-{place}", tr("Runs"), columns, rows)


def _table(name: str, title: str, columns: tuple[Column, ...], rows: Sequence[Sequence[object]]) -> Table:
    shown = tuple(TableRow(tuple(map(_cell, row)), tone="") for row in rows)
    return Table(name, title, "", "", columns, shown, len(shown))


def _cell(value: object) -> Cell:
    number = isinstance(value, int | float)
    return Cell(cell_text(value, number, 200), repr(value) if number else None)
