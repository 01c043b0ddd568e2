"""Where the step goes: both sides as aligned bars, by phase and by kind, then each phase on a scale of its own.

Places and lengths are percentages of the picture's width, so that texts keep their size. They come from the same
numbers as the labels (``step_account``); the page's test measures the bars that a browser draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rlcompare.language import tr
from rlcompare.model.diff import Diff
from rlcompare.model.words import SIDES, Polarity, SideName
from rlcompare.report import quantity
from rlcompare.report.charts.chart import Chart, TextTable
from rlcompare.report.charts.step_account import (
    OTHER,
    WHOLE,
    Group,
    StepAccount,
    accounts_of,
    shown_name,
)
from rlcompare.report.sides import side_label
from rlcompare.report.tone import NOISE_RELATIVE, floor_of, profile_disagrees, tone
from rlcompare.text import width_of

_LARGE = 1000.0
"""Steps from this number of units on need no more decimals than a time that stands alone."""

_CHARACTER = 0.78
"""Width of a character of a name, as a percentage of a picture of the usual width."""

_CHARACTER_NARROW = 2.1
"""The same on a telephone."""


class Segment(NamedTuple):
    """A part of a bar.

    Attributes:
        start, length: percentages of the width.
        negative: whether its time is below 0: what the others count more than once. It is drawn over their end.
    """

    kind: str
    start: float
    length: float
    text: str
    negative: bool


class Bar(NamedTuple):
    """The bar of one side; ``end`` is where the time ends that its label gives, as a percentage of the width."""

    side: SideName
    label: str
    total: str
    end: float
    segments: tuple[Segment, ...]


class Band(NamedTuple):
    """A phase between the two bars of a step: the ends on the baseline's bar and on the new one's.

    Attributes:
        fits: ``roomy`` if the name fits where there is space, ``always``, or empty.
    """

    name: str
    baseline: tuple[float, float]
    new: tuple[float, float]
    middle: float
    fits: str


class Line(NamedTuple):
    """A phase, or a kind: its bars and its numbers."""

    name: str
    bars: tuple[Bar, ...]
    pair: str
    delta: str
    change: str
    tone: str


class Key(NamedTuple):
    """A kind of the legend, with its time."""

    kind: str
    label: str
    pair: str
    delta: str


class Panel(NamedTuple):
    """One step."""

    title: str
    note: str
    step: Line
    bands: tuple[Band, ...]
    lines: tuple[Line, ...]
    keys: tuple[Key, ...]


class AccountContent(NamedTuple):
    """The step of the headline, then the profiled one if that is another."""

    panels: tuple[Panel, ...]


def account_chart(diff: Diff) -> Chart | None:
    """Where the step goes; None if no time of a step is known."""
    accounts = accounts_of(diff)
    if not accounts:
        return None
    panels = tuple(_panel(diff, account) for account in accounts)
    return Chart(
        name="account",
        title=tr("Where the step goes, side by side"),
        finding=_finding(accounts[0]),
        note=tr("The two bars of a step have one scale, and so have those of the phases below. Times are per step."),
        content=AccountContent(panels),
        table=_table(accounts),
    )


def kind_label(kind: str) -> str:
    """A kind of time in words."""
    return {
        "compute": tr("computation"),
        "transfer": tr("transfer"),
        "wait": tr("waiting for a rank"),
        "comm": tr("communication"),
        "copy": tr("copies"),
        "queue": tr("queued"),
        "launch": tr("launch"),
        "host": tr("host"),
        "free": tr("free"),
        "start": tr("late start, between steps"),
        "unknown": tr("not recorded"),
        OTHER: tr("other"),
        WHOLE: tr("wall time"),
    }[kind]


def _panel(diff: Diff, account: StepAccount) -> Panel:
    judged = not (account.profiled and profile_disagrees(diff))
    style = _style(account, floor_of(diff.metric(diff.headline)), judged=judged, unstable=diff.unstable)
    every = Group(tr("step"), tuple(part for group in account.groups for part in group.parts))
    longest = max(_length(every, side) for side in account.sides)
    largest = max(max(_length(group, side), abs(group.value(side))) for group in account.groups for side in SIDES)
    lines = tuple(_line(_name_of(account, group), group, largest, account.sides, style) for group in account.groups)
    step = _line(every.name, every, longest, account.sides, style)
    bands = _bands(account, longest) if account.by_phase and len(account.sides) == len(SIDES) else ()
    keys = tuple(_key(kind, account.sides, style) for kind in account.kinds())
    only_whole = [key.kind for key in keys] == [WHOLE]
    return Panel(account.title, account.note, step, bands, lines, () if only_whole else keys)


class _Style(NamedTuple):
    """How the numbers of one step are written and coloured: all in one unit, with the same decimals.

    Attributes:
        floor: smaller changes are noise, in ms.
        judged: whether changes are called worse or better; ``unstable``: never better.
    """

    unit: str
    decimals: int
    floor: float
    judged: bool
    unstable: bool

    def text(self, value: float | None) -> str:
        return quantity.quantity(quantity.in_unit(value, "ms", self.unit), self.unit, self.decimals)

    def pair(self, values: Sequence[float | None]) -> str:
        shown = [quantity.in_unit(value, "ms", self.unit) for value in values]
        return f"{' → '.join(quantity.amount(value, self.unit, self.decimals) for value in shown)} {self.unit}"

    def moved(self, value: float | None) -> str:
        return quantity.signed_quantity(quantity.in_unit(value, "ms", self.unit), self.unit, self.decimals)

    def tone(self, baseline: float, new: float) -> str:
        if not self.judged:
            return ""
        ratio = new / baseline if baseline > 0 and new >= 0 else None
        found = tone(new - baseline, ratio, Polarity.LOWER, self.floor, baseline)
        return "" if found == "better" and self.unstable else found


def _style(account: StepAccount, floor: float = 0.0, *, judged: bool = False, unstable: bool = False) -> _Style:
    totals = [account.total(side) for side in account.sides]
    unit = quantity.shown_unit("ms", totals)
    largest = max(quantity.in_unit(total, "ms", unit) or 0.0 for total in totals)
    decimals = quantity.lone_decimals(largest) + (1 if largest < _LARGE else 0)
    return _Style(unit, decimals, floor, judged, unstable)


def _length(group: Group, side: SideName) -> float:
    """How far the bar of a group reaches: parts below 0 take nothing back."""
    return sum(max(part.value(side), 0.0) for part in group.parts)


def _line(name: str, group: Group, scale: float, sides: Sequence[SideName], style: _Style) -> Line:
    baseline, new = (group.value(side) if side in sides else None for side in SIDES)
    both = baseline is not None and new is not None
    delta = new - baseline if both else None  # type: ignore[operator]
    ratio = new / baseline if both and baseline > 0 and new >= 0 else None  # type: ignore[operator]
    return Line(
        name=name,
        bars=tuple(_bar(group, side, scale, style) for side in sides),
        pair=style.pair((baseline, new)),
        delta=style.moved(delta),
        change=quantity.change_of(delta, ratio, baseline),
        tone=style.tone(baseline, new) if both else "",  # type: ignore[arg-type]
    )


def _bar(group: Group, side: SideName, scale: float, style: _Style) -> Bar:
    segments, start = [], 0.0
    reach = 100 * _length(group, side) / scale
    for part in group.parts:
        value = part.value(side)
        if value == 0:
            continue
        length = 100 * abs(value) / scale
        text = f"{shown_name(part.phase)} · {kind_label(part.kind)} {style.text(value)}"
        segments.append(
            Segment(part.kind, start if value > 0 else max(reach - length, 0.0), length, text, negative=value < 0)
        )
        start += length if value > 0 else 0.0
    total = group.value(side)
    return Bar(side, side_label(side), style.text(total), 100 * total / scale, tuple(segments))


def _bands(account: StepAccount, longest: float) -> tuple[Band, ...]:
    made, reached = [], dict.fromkeys(SIDES, 0.0)
    for group in account.groups:
        ends = {}
        for side in SIDES:
            start = reached[side]
            reached[side] += 100 * _length(group, side) / longest
            ends[side] = start, reached[side]
        first = max(start for start, _ in ends.values())
        last = min(end for _, end in ends.values())
        name = shown_name(group.name)
        made.append(Band(name, ends["baseline"], ends["new"], (first + last) / 2, _fits(name, last - first)))
    return tuple(made)


def _fits(name: str, space: float) -> str:
    width = width_of(name) + 1
    if width * _CHARACTER_NARROW <= space:
        return "always"
    return "roomy" if width * _CHARACTER <= space else ""


def _name_of(account: StepAccount, group: Group) -> str:
    return shown_name(group.name) if account.by_phase else kind_label(group.name)


def _key(kind: Group, sides: Sequence[SideName], style: _Style) -> Key:
    values = tuple(kind.value(side) if side in sides else None for side in SIDES)
    delta = values[1] - values[0] if None not in values else None  # type: ignore[operator]
    return Key(kind.name, kind_label(kind.name), style.pair(values), style.moved(delta))


def _finding(account: StepAccount) -> str:
    """The phase, or kind, that changed most, and what in it."""
    if len(account.sides) < len(SIDES) or len(account.groups) < 2:
        return ""
    baseline, new = (account.total(side) or 0.0 for side in SIDES)
    largest = max(account.groups, key=lambda group: abs(_delta(group)))
    moved = _delta(largest)
    if abs(moved) < NOISE_RELATIVE * baseline:
        return tr("No part changed by more than {share} of the step.", share=quantity.share(NOISE_RELATIVE))
    style = _style(account)
    said = tr(
        "{name} changed most: {moved}; the step by {whole}.",
        name=_name_of(account, largest),
        moved=style.moved(moved),
        whole=style.moved(new - baseline),
    )
    part = max(largest.parts, key=lambda part: abs(part.new - part.baseline))
    inner = part.new - part.baseline
    if not account.by_phase or part.kind in (WHOLE, OTHER) or inner * moved <= 0 or abs(inner) < abs(moved) / 2:
        return said
    inside = tr("In it, {kind}: {moved}.", kind=kind_label(part.kind), moved=style.moved(inner))
    return f"{said} {inside}"


def _delta(group: Group) -> float:
    return group.value("new") - group.value("baseline")


def _table(accounts: Sequence[StepAccount]) -> TextTable:
    rows: list[tuple[str, ...]] = []
    for account in accounts:
        sides, style = account.sides, _style(account)
        every = Group("", tuple(part for group in account.groups for part in group.parts))
        rows.append(_numbers(account.title, tr("all"), every, sides, style))
        for group in account.groups:
            name = _name_of(account, group)
            rows.append(_numbers(name, tr("all"), group, sides, style))
            if account.by_phase and len(group.parts) > 1:
                kinds = (
                    (kind_label(part.kind), Group("", (part,))) for part in group.parts if part.baseline or part.new
                )
                rows += (_numbers(name, kind, part, sides, style) for kind, part in kinds)
    columns = (tr("part"), tr("kind"), tr("baseline"), tr("new"), "Δ", tr("change"))
    return TextTable(columns, (False, False, True, True, True, True), tuple(rows))


def _numbers(name: str, kind: str, group: Group, sides: Sequence[SideName], style: _Style) -> tuple[str, ...]:
    line = _line(name, group, 1.0, sides, style)
    values = (style.text(group.value(side) if side in sides else None) for side in SIDES)
    return name, kind, *values, line.delta, line.change
