"""The waterfall: how causes, and what they leave unexplained, lead from the baseline's step to the new one.

The causes explain the headline's change, or that of the profiled step, where that is what the profile saw
(``compare.parts.basis_of``). The bars stand between the two values of that time. Where the change is small beside them,
the axis does not start at 0: both bars are then drawn with a break, and the note says where it starts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rlcompare.compare.parts import COMMUNICATION, COMPUTE
from rlcompare.compare.short_names import shortened
from rlcompare.language import sentences, tr, trn
from rlcompare.model.diff import Cause, Delta, Diff, Row
from rlcompare.report import quantity
from rlcompare.report.charts.chart import Chart, TextTable
from rlcompare.report.shares import Part, are_times, parts_of, percent_text
from rlcompare.report.tone import PROFILED_STEPS, tone_of
from rlcompare.text import safe_text

WIDTH = 1000.0
"""Length of the longest bar, and of the axis, in units of the drawing."""

_ROWS = 6
"""Causes that have a bar of their own; if there are more, the last one stands for all others (two if some made up)."""

_CUT_BELOW = 0.25
"""The axis does not start at 0 if the changes span less than this part of it."""

_SPAN = 0.72
"""The part of a cut axis that the changes take."""

_TOTALS = 2
_MATCH = 1e-6
"""How exactly the causes sum to the change, which rounding alone limits."""

_NAME, _OF_MANY = 60, 40
_IN_MS = {"ms": 1.0, "s": 1e3}


class Bar(NamedTuple):
    """One line of the waterfall.

    Attributes:
        kind: ``total``, ``cause``, ``others`` or ``unexplained``.
        number: of the cause in the list of causes; 0: it has none.
        start, length: of its bar, in units of the drawing.
        end: where the next bar begins: at the right end of a bar that adds, at the left end of one that takes away.
        value: the time, or the change with its sign.
        share: its part of the change; empty for totals.
        tone: ``worse``, ``better`` or none.
    """

    kind: str
    label: str
    number: int
    start: float
    length: float
    end: float
    value: str
    share: str
    tone: str


class Waterfall(NamedTuple):
    """What is drawn; ``cut`` if the axis does not start at 0."""

    bars: tuple[Bar, ...]
    cut: bool


class _Step(NamedTuple):
    kind: str
    label: str
    number: int
    value: float
    share: str = ""


def waterfall(diff: Diff) -> Chart | None:
    """The waterfall of a diff; None if the headline was not measured on both sides."""
    changes = [*_changes(diff)]
    whole, ends = _explained(diff, changes), ends_of(diff)
    if whole is None or ends is None:
        return None
    totals = [_Step("total", label, 0, value) for label, value in zip((tr("baseline"), tr("new")), ends, strict=True)]
    steps = [totals[0], *changes, totals[1]]
    origin, top = _axis(steps)
    if top <= origin:
        return None
    tones = _tones(diff)
    bars = tuple(_bars(steps, origin, top, ends, tones))
    return Chart(
        name="waterfall",
        title=tr("From the baseline to the new side"),
        finding="",
        note=_note(diff, whole, origin),
        content=Waterfall(bars, origin > 0),
        table=_table(bars),
    )


def ends_of(diff: Diff) -> tuple[float, float] | None:
    """The times in ms between which the causes stand, baseline and new; None where they sum to no measured change."""
    whole = _explained(diff, [*_changes(diff)])
    if whole is None or whole.baseline is None or whole.new is None or min(whole.baseline, whole.new) < 0:
        return None
    factor = _IN_MS[whole.unit]
    return whole.baseline * factor, whole.new * factor


def _explained(diff: Diff, changes: Sequence[_Step]) -> Delta | None:
    """The time whose change the causes explain; the headline if there are none."""
    headline = diff.metric(diff.headline)
    if headline is None or headline.unit not in _IN_MS or headline.delta is None:
        return None
    return _whole(diff, headline, math.fsum(step.value for step in changes)) if changes else headline


def _changes(diff: Diff) -> Iterator[_Step]:
    """The causes and what they leave, whose sum is the change that they explain."""
    parts, by_time = parts_of(diff), are_times(diff)

    def share(part: Part) -> str:
        return "" if by_time else percent_text(part)

    few = len(diff.causes) <= _ROWS
    shown = diff.causes if few else diff.causes[: _ROWS - 1]
    others = diff.causes[len(shown) :]
    for number, (cause, part) in enumerate(zip(shown, parts.causes, strict=False), 1):
        yield _Step("cause", name_of(cause), number, part.delta_ms, share(part))
    for part in parts.others(len(shown)):
        number = sum(1 for cause in others if cause.delta_ms * part.delta_ms > 0)
        label = trn("{n} other cause", "{n} other causes", number)
        yield _Step("others", label, 0, part.delta_ms, share(part))
    if parts.unexplained is not None:
        yield _Step("unexplained", tr("unexplained"), 0, parts.unexplained.delta_ms, share(parts.unexplained))


def _whole(diff: Diff, headline: Delta, change: float) -> Delta | None:
    """The time whose change the causes explain: the headline, else the first time of the profiled step that fits."""
    profiled = (diff.metric(name) for name in PROFILED_STEPS)
    for delta in (headline, *(found for found in profiled if found is not None)):
        moved = None if delta.delta is None else delta.delta * _IN_MS.get(delta.unit, math.nan)
        size = max(abs(delta.baseline or 0.0), abs(delta.new or 0.0)) * _IN_MS.get(delta.unit, math.nan)
        if moved is not None and math.isclose(moved, change, rel_tol=_MATCH, abs_tol=_MATCH * size):
            return delta
    return None


def _axis(steps: Sequence[_Step]) -> tuple[float, float]:
    """Where the axis starts, and where it ends."""
    levels, level = [], 0.0
    for step in steps:
        level = step.value if step.kind == "total" else level + step.value
        levels.append(level)
    low, high = min(levels), max(levels)
    span = high - low
    if not span or span >= _CUT_BELOW * high or len(steps) == _TOTALS:
        return min(0.0, low), high
    return high - span / _SPAN, high


def _bars(
    steps: Sequence[_Step], origin: float, top: float, ends: tuple[float, float], tones: tuple[str, str]
) -> Iterator[Bar]:
    def place(value: float) -> float:
        return round((value - origin) / (top - origin) * WIDTH, 3)

    level = 0.0
    for step in steps:
        total = step.kind == "total"
        before, level = (max(origin, 0.0), step.value) if total else (level, level + step.value)
        left, right = sorted((place(before), place(level)))
        text = quantity.moved(step.value, "ms", ends)
        tone = "" if total or step.kind == "unexplained" or not step.value else tones[step.value > 0]
        yield Bar(
            kind=step.kind,
            label=step.label,
            number=step.number,
            start=left,
            length=round(right - left, 3),
            end=place(level),
            value=text.removeprefix("+") if total else text,
            share=step.share,
            tone=tone,
        )


def _tones(diff: Diff) -> tuple[str, str]:
    """The tones of parts that take less and more time: none where the change itself is not judged."""
    headline = diff.metric(diff.headline)
    mood = tone_of(headline, diff) if headline else ""
    if mood not in ("better", "worse"):
        return "", ""
    return ("" if diff.unstable else "better"), "worse"


def _note(diff: Diff, whole: Delta, origin: float) -> str:
    metric = safe_text(whole.metric, _NAME)
    said = [
        tr("Time: {metric}.", metric=metric)
        if whole.metric == diff.headline
        else tr("Time: {metric}, of the profiled step, whose change the causes explain.", metric=metric)
    ]
    if origin > 0:
        shown = quantity.quantity(origin, "ms")
        said.append(tr("The axis starts at {value} to make the changes visible.", value=shown))
    return sentences(said)


def _table(bars: Sequence[Bar]) -> TextTable:
    shares = any(bar.share for bar in bars)
    columns = (tr("part"), tr("time"), *((tr("share of the change"),) if shares else ()))
    rows = tuple((_numbered(bar), bar.value, *((bar.share or quantity.ABSENT,) if shares else ())) for bar in bars)
    return TextTable(columns, (False, True, *((True,) if shares else ())), rows)


def _numbered(bar: Bar) -> str:
    return f"{bar.number}. {bar.label}" if bar.number else bar.label


def name_of(cause: Cause) -> str:
    """A cause in a few words: its row, or what kind of cause it is. A sum over many names has none of theirs."""
    words = _words().get(cause.what)
    if cause.what == "host_pace" and cause.row:
        words = tr("host speed in {phase}", phase=safe_text(cause.row, _OF_MANY))
    rows = [row for row in cause.rows if row["kind"] is not None]  # without the sum of those that are not listed
    if len({row["name"] for row in rows}) > 1:
        words = _words_of_many(cause, rows) or words
    elif cause.what == "communication" and cause.section == "collectives":
        words = ""  # the kind of collective
    return words or safe_text(shortened(cause.row, _NAME), _NAME) or safe_text(cause.what.replace("_", " "), _NAME)


def _words_of_many(cause: Cause, rows: Sequence[Row]) -> str:
    kinds = {row["kind"] for row in rows}
    if cause.what == "operator":
        return tr("operators on the host")
    if cause.what == "replaced":
        return tr(
            "{name} and {n} more",
            name=safe_text(shortened(cause.row, _OF_MANY), _OF_MANY),
            n=len({row["name"] for row in rows}) - 1,
        )
    if cause.what != "kind":
        return ""
    if kinds <= {COMPUTE}:
        return tr("computation")
    if kinds <= COMMUNICATION:
        return tr("exposed communication")
    return tr("time without operators") if "without operators" in cause.text else tr("time without kernels")


def _words() -> dict[str, str]:
    """What stands for causes that no row names."""
    return {
        "everything": tr("everything alike"),
        "workload": tr("other work"),
        "frequency": tr("clock frequency"),
        "data_types": tr("other data types"),
        "compute": tr("computation as a whole"),
        "host_pace": tr("host speed"),
        "communication": tr("communication"),
        "lost_overlap": tr("lost overlap"),
        "waiting": tr("waiting for other ranks"),
        "data": tr("data loading"),
        "sync": tr("synchronisation"),
        "gc": tr("garbage collection"),
        "alloc": tr("memory allocation"),
        "compile": tr("compilation"),
        "collective_call": tr("collective calls"),
        "copies": tr("copies"),
        "python": tr("Python code"),
        "launch": tr("kernel launch"),
        "queue": tr("queue of the device"),
        "late_start": tr("late start"),
        "between_steps": tr("between steps"),
        "free": tr("free"),
        "unknown": tr("unknown reason on the host"),
    }
