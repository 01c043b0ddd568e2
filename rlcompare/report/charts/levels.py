"""Memory and clock over time, both sides on one scale: lines of steps, the peak of memory marked.

The lines are drawn in a box of 1,000 × 1,000 units that the page stretches; texts stand outside of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rlcompare.language import listed, tr
from rlcompare.model.diff import Diff
from rlcompare.model.pictures import Level
from rlcompare.model.size import in_binary_unit
from rlcompare.model.words import SideName
from rlcompare.report import quantity
from rlcompare.report.charts.axis import WHOLE, Tick, round_step
from rlcompare.report.charts.chart import Chart, TextTable
from rlcompare.report.charts.scatter import arrow
from rlcompare.report.sides import side_label
from rlcompare.text import safe_text

BOX = 1000
MOVED = 0.01
"""Relative change from which a peak or a clock is told; a clock that never changes by as much is not drawn."""

_TICKS = 5
_SHORTEST = 1e-6
"""Least length of the axis of time, in ms, and as a part of where it starts."""


class Line(NamedTuple):
    """A level of one side as a path in the box.

    Attributes:
        what: as in ``Level``.
        mark: position of its peak in percent, and the text beside it; None: it has no mark.
    """

    side: SideName
    what: str
    path: str
    mark: tuple[float, float, str] | None


class Levels(NamedTuple):
    """What the template draws; positions of ticks are percentages."""

    lines: tuple[Line, ...]
    x: tuple[Tick, ...]
    y: tuple[Tick, ...]
    x_title: str
    y_title: str
    whats: tuple[tuple[str, str], ...]


class _Scale(NamedTuple):
    low: float
    high: float

    def at(self, value: float, size: float) -> float:
        return round(size * (value - self.low) / (self.high - self.low), 3)


def memory_chart(diff: Diff) -> Chart | None:
    """Allocated and reserved memory of the fullest device of each side; None if none was recorded over time."""
    found = [level for level in diff.pictures.levels if level.what in ("allocated", "reserved") and level.values]
    if not found:
        return None
    top = max(value for level in found for value in level.values)
    note = tr(
        "{component} on the device that uses most: {ranks}.",
        component=component_text(diff, found[0].component),
        ranks=_ranks(diff, found),
    )
    return Chart(
        name="memory",
        title=tr("Memory over time"),
        finding=_peak_finding(found),
        note=f"{note} {_since()}",
        content=_levels(found, _Scale(0.0, top * 1.08 or 1.0), _byte_ticks(top), tr("memory"), _bytes),
        table=_table(diff, found, _bytes),
    )


def clock_chart(diff: Diff) -> Chart | None:
    """The clock of AI Core of the device with the lowest one; None if it was not sampled, or is the same throughout."""
    found = [level for level in diff.pictures.levels if level.what == "clock" and level.values]
    values = [value for level in found for value in level.values]
    if not values or max(values) - min(values) <= MOVED * max(values):
        return None
    margin = (max(values) - min(values)) * 0.1
    scale = _Scale(min(values) - margin, max(values) + margin)
    return Chart(
        name="clock",
        title=tr("AI Core clock"),
        finding=_clock_finding(found),
        note=tr(
            "The device with the lowest mean: {ranks}.",
            ranks=_ranks(diff, found),
        )
        + " "
        + _since(),
        content=_levels(found, scale, _round_values(scale.low, scale.high), "MHz", _mhz),
        table=_table(diff, found, _mhz),
    )


def _levels(
    found: Sequence[Level], y: _Scale, ticks: Sequence[float], y_title: str, text: Callable[[float], str]
) -> Levels:
    start, end = min(level.at_ms[0] for level in found), max(level.at_ms[-1] for level in found)
    x = _Scale(start, max(end, start + max(abs(start) * _SHORTEST, _SHORTEST)))
    unit = quantity.shown_unit("ms", (abs(start), abs(end)))
    marked = {level.what for level in found if level.what == "allocated"} or {"reserved"}
    return Levels(
        lines=tuple(_line(level, x, y, level.what in marked) for level in found),
        x=tuple(Tick(x.at(ms, 100), f"{quantity.in_unit(ms, 'ms', unit):,g}") for ms in _round_values(x.low, x.high)),
        y=tuple(Tick(round(100 - y.at(value, 100), 3), text(value)) for value in ticks),
        x_title=unit,
        y_title=y_title,
        whats=tuple((what, _WHAT[what]()) for what in dict.fromkeys(level.what for level in found)),
    )


def _line(level: Level, x: _Scale, y: _Scale, is_marked: bool) -> Line:
    points = [
        (x.at(ms, BOX), round(BOX - y.at(value, BOX), 1)) for ms, value in zip(level.at_ms, level.values, strict=False)
    ]
    path = f"M{points[0][0]:g} {points[0][1]:g}" + "".join(f"H{at:g}V{height:g}" for at, height in points[1:])
    path += f"H{BOX}" if len(points) == 1 else ""
    peak = max(level.values)
    mark = None
    if is_marked and level.what != "clock":
        at = level.at_ms[level.values.index(peak)]
        mark = (x.at(at, 100), round(100 - y.at(peak, 100), 3), quantity.quantity(peak, "bytes"))
    return Line(level.side, level.what, path, mark)


def _round_values(low: float, high: float) -> list[float]:
    """A few round numbers from low to high."""
    step = round_step((high - low) / _TICKS, WHOLE)
    return [round(number * step, 9) for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _byte_ticks(top: float) -> list[float]:
    """0 and a few powers of two, or multiples of one."""
    step = 1.0
    while top / step > _TICKS:
        step *= 2
    return [step * number for number in range(int(top // step) + 1)]


def _bytes(value: float) -> str:
    size, unit = in_binary_unit(value)
    return f"{size:.4g} {unit}" if value else "0"


def _mhz(value: float) -> str:
    return f"{value:,g}"


def _by_side(found: Sequence[Level], what: str) -> dict[SideName, Level]:
    return {level.side: level for level in found if level.what == what}


def _peak_finding(found: Sequence[Level]) -> str:
    """The peaks of both sides."""
    for what in ("allocated", "reserved"):
        levels = _by_side(found, what)
        if len(levels) == 2:
            old, new = (max(levels[side].values) for side in ("baseline", "new"))
            peaks = arrow([quantity.quantity(old, "bytes"), quantity.quantity(new, "bytes")])
            if old and abs(new / old - 1) >= MOVED:
                change = quantity.change(new / old)
                return tr("Peak of {what} memory: {peaks}, {change}.", what=_WHAT[what](), peaks=peaks, change=change)
            return tr("Peak of {what} memory: {peaks}.", what=_WHAT[what](), peaks=peaks)
    return ""


def _clock_finding(found: Sequence[Level]) -> str:
    levels = _by_side(found, "clock")
    lows = arrow([_mhz(min(levels[side].values)) for side in ("baseline", "new") if side in levels])
    return tr("Lowest clock: {lows} MHz.", lows=lows)


def _since() -> str:
    return tr("Time starts at its first step, or at the first sample where no step is marked.")


def component_text(diff: Diff, component: str | None) -> str:
    """Whose memory it is. PTA, PyTorch's pool, has this name in profiles of Ascend alone."""
    tools = {row.get("tool") for side in (diff.baseline, diff.new) for row in side.captures}
    return "PyTorch" if component == "PTA" and tools == {"torch"} else safe_text(component, 40)


def _rank(diff: Diff, level: Level) -> str:
    """The rank; the run where it is the only capture of this, and has no rank."""
    runs = (diff.baseline if level.side == "baseline" else diff.new).runs
    alone = level.rank == "capture 0" and level.run < len(runs) and runs[level.run].captures == 1
    return safe_text(runs[level.run].name if alone else level.rank, 60)


def _ranks(diff: Diff, found: Sequence[Level]) -> str:
    ranks = {level.side: _rank(diff, level) for level in found}
    if len(set(ranks.values())) == 1:
        return next(iter(ranks.values()))
    return listed(tr("{rank} ({side})", rank=rank, side=side_label(side)) for side, rank in ranks.items())


def _table(diff: Diff, found: Sequence[Level], text: Callable[[float], str]) -> TextTable:
    """The samples that are drawn; of hundreds a reader wants lowest, highest and last."""
    columns = (tr("level"), tr("rank"), tr("lowest"), tr("highest"), tr("at, ms"), tr("last"))
    rows = tuple(
        (
            listed((_WHAT[level.what](), side_label(level.side))),
            _rank(diff, level),
            text(min(level.values)),
            text(max(level.values)),
            quantity.amount(level.at_ms[level.values.index(max(level.values))], "ms"),
            text(level.values[-1]),
        )
        for level in found
    )
    return TextTable(columns, (False, False, True, True, True, True), rows)


_WHAT = {"allocated": lambda: tr("allocated"), "reserved": lambda: tr("reserved"), "clock": lambda: tr("clock")}
