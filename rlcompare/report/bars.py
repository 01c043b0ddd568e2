"""Bars of a step's time: by phase if there are phases, else for the step as a whole.

Lengths are thousandths of the longest bar. All bars of a report share one scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rlcompare.compare.overall import OUTSIDE, PATH
from rlcompare.language import mark, tr
from rlcompare.model.diff import Delta, Diff, Row, Value
from rlcompare.report import quantity
from rlcompare.text import safe_text

LONGEST = 1000
PHASES_SHOWN = 12

_PHASE_PARTS = (
    ("compute", mark("compute")),
    ("exposed_comm", mark("exposed communication")),
    ("free", mark("free")),
)
_STEP_PARTS = (
    ("time.preparing", "host", mark("preparing")),
    ("time.compute", "compute", mark("compute")),
    ("time.exposed_comm", "exposed_comm", mark("exposed communication")),
    ("time.free", "free", mark("free")),
    ("time.tail", "host", mark("tail")),
)
_SIDES = ("baseline", "new")

_Part = tuple[str, str, Value, Value]
"""Kind, label, time, and the time by which it is drawn."""


@dataclass(frozen=True)
class Segment:
    """A part of a bar, placed in thousandths of the longest bar."""

    kind: str
    start: int
    length: int
    text: str


@dataclass(frozen=True)
class Bar:
    """The time of one phase, or of the step, on one side."""

    name: str
    side: str
    total: str
    length: int
    segments: tuple[Segment, ...]


def bars_of(diff: Diff) -> tuple[tuple[Bar, ...], str]:
    """Two bars per phase, or two for the step, with the device's time inside; and a sentence that says which."""
    section = diff.sections.get("phases")
    rows = () if section is None else section.rows
    if any(row.get("name") != OUTSIDE for row in rows):
        wall = "wall" in {row.get("kind") for row in rows}
        of_what = tr("wall time on the host, and the device's time within it") if wall else tr("time on the device")
        phases = tr("Phases of the step, mean over ranks") if diff.metric(PATH) else tr("Phases of the step")
        return _phases(rows[:PHASES_SHOWN]), tr("{what}: {measure}.", what=phases, measure=of_what)
    step = diff.metric("time.step")
    marked = step is not None and any(quantity.is_number(value) for value in (step.baseline, step.new))
    if marked:
        note = tr("The step: wall time on the host, and the device's time within it.")
        return _step(diff, tr("step"), step), note
    bars = _step(diff, tr("device span"), diff.metric("time.device_span"), of_device=True)
    return bars, tr("The step: time on the device.")


def _phases(rows: Iterable[Row]) -> tuple[Bar, ...]:
    bars = []
    for row in rows:
        for side in _SIDES:
            values = [(kind, label, row.get(f"{side}_{kind}")) for kind, label in _PHASE_PARTS]
            parts: list[_Part] = [(kind, tr(label), value, value) for kind, label, value in values]
            bars.append((safe_text(row.get("name"), 60), side, row.get(side), _fitted(row.get(side), parts)))
    return _scaled(bars)


def _fitted(total: Value, parts: list[_Part]) -> list[_Part]:
    """Parts of a phase that are together longer than the phase, in proportion to it.

    That is so where training timed the phase in plain steps: the parts come from a profiled step, which is slower.
    """
    size = sum(_positive(length) for *_, length in parts)
    if not 0 < _positive(total) < size:
        return parts
    return [
        (kind, tr("{what} of the profiled step", what=label), value, _positive(length) * _positive(total) / size)
        for kind, label, value, length in parts
    ]


def _step(diff: Diff, name: str, total: Delta | None, *, of_device: bool = False) -> tuple[Bar, ...]:
    bars = []
    for side in _SIDES if total is not None else ():
        # Without a mark of the step, the host's time before and after the device is unknown.
        values = [
            (kind, label, _value(diff.metric(metric), side))
            for metric, kind, label in _STEP_PARTS
            if kind != "host" or not of_device
        ]
        parts: list[_Part] = [(kind, tr(label), value, value) for kind, label, value in values]
        bars.append((name, side, _value(total, side), parts))
    return _scaled(bars)


def _value(delta: Delta | None, side: str) -> Value:
    values: Mapping[str, Value] = {} if delta is None else {"baseline": delta.baseline, "new": delta.new}
    return values.get(side)


def _scaled(bars: list[tuple[str, str, Value, list[_Part]]]) -> tuple[Bar, ...]:
    # Parts may be longer than the whole: a device that outlives the host's step makes the tail negative.
    sizes = [max(_positive(total), sum(_positive(value) for *_, value in parts)) for _, _, total, parts in bars]
    longest = max(sizes, default=0.0)
    if longest <= 0 or not math.isfinite(longest):
        return ()
    made = []
    for name, side, total, parts in bars:
        segments, start = [], 0
        for kind, label, value, drawn in parts:
            length = round(LONGEST * _positive(drawn) / longest)
            segments.append(Segment(kind, start, length, f"{label} {quantity.quantity(value, 'ms')}"))
            start += length
        length = round(LONGEST * _positive(total) / longest)
        made.append(Bar(name, side, quantity.quantity(total, "ms"), length, tuple(segments)))
    return tuple(made)


def _positive(value: Value) -> float:
    return max(value, 0.0) if quantity.is_number(value) else 0.0
