"""Runs and steps as dots: the headline of each run with the median of its side, how far the runs tell the change, and
the steps of each side.

The change and its interval are those of the answer (``report/answer.py``). Runs that do not count are hollow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from rlcompare.compare.overall import PATH, rank_headline
from rlcompare.compare.replicates import counted, of_repetitions
from rlcompare.compare.runs import known
from rlcompare.compare.series import kept
from rlcompare.gate.decision import Decision
from rlcompare.language import listed, sentences, tr, trn, with_label
from rlcompare.model.diff import Delta, Diff, RunEvent, RunInfo
from rlcompare.model.verdict import Policy
from rlcompare.model.words import SIDES, EventKind, SideName, Status
from rlcompare.report import quantity
from rlcompare.report.answer import decision_of, spread_text, tells_nothing, with_source
from rlcompare.report.charts.axis import Axis, Tick, axis_of, step_axis, step_ticks
from rlcompare.report.charts.chart import Chart, TextTable
from rlcompare.report.charts.marks import Dots, Mark, dots_of
from rlcompare.report.sentences import said
from rlcompare.report.sides import side_label
from rlcompare.report.step_parts import rows_of
from rlcompare.report.tone import PROFILED_STEPS
from rlcompare.text import safe_text

MOST_DOTS = 800
"""Dots of the steps of a side; of more, the lowest and the highest of each of many equal parts are kept."""

_LEVELS = (12, 20, 6, 26)
"""Heights of neighbouring dots, so that equal values do not hide each other."""

_NAME, _NAMED = 60, 8


class RunDot(NamedTuple):
    """A run; ``x`` is a percentage of the width. ``hollow``: it does not count."""

    x: float
    y: int
    label: str
    hollow: bool


class SideRuns(NamedTuple):
    """The runs of a side, and the median of those that count; None if there is none."""

    side: SideName
    label: str
    dots: tuple[RunDot, ...]
    median: float | None
    text: str


class ChangeBar(NamedTuple):
    """The change and its interval on an axis of its own; ``zero`` is where nothing changed. Percentages."""

    low: float
    estimate: float
    high: float
    zero: float
    text: str
    ticks: tuple[Tick, ...]


class SideSteps(NamedTuple):
    """The steps of a side."""

    side: SideName
    label: str
    dots: Dots
    marks: tuple[Mark, ...]


class RunsContent(NamedTuple):
    """Runs, the change, steps; each may be absent. ``steps_metric`` is empty if it is that of the runs."""

    metric: str
    steps_metric: str
    runs: tuple[SideRuns, ...]
    ticks: tuple[Tick, ...]
    change: ChangeBar | None
    left_out: tuple[str, ...]
    steps: tuple[SideSteps, ...]
    values: tuple[Tick, ...]
    numbers: tuple[Tick, ...]


class _Steps(NamedTuple):
    """The steps of one side: numbers and values, in order, and of how many runs."""

    steps: tuple[int, ...]
    values: tuple[float, ...]
    runs: int


def runs_chart(diff: Diff, policy: Policy | None = None) -> Chart | None:
    """Runs and steps of the headline; None if there is but one value a side.

    Args:
        policy: what a gate assumes where runs are too few; None: its defaults.
    """
    headline = diff.metric(diff.headline)
    if headline is None:
        return None
    samples = {side: known(headline.samples.get(side, ())) for side in SIDES}
    several = max(map(len, samples.values())) > 1
    steps = {side: found for side in SIDES if len((found := _steps_of(diff, headline, side)).steps) > 0}
    if max((len(found.steps) for found in steps.values()), default=0) < 2:
        steps = {}
    if not several and not steps:
        return None
    judged = of_repetitions(diff).metric(diff.headline) or headline
    change = decision_of(judged, policy) if several and judged.delta is not None else None
    content = _content(diff, headline, judged, change, steps, several=several)
    return Chart(
        name="runs",
        title=tr("Runs and steps"),
        finding=_finding(diff, headline, change),
        note=_note(several=several, logged=any(found.runs for found in steps.values()), steps=bool(steps)),
        content=content,
        table=_table(diff, headline, change),
    )


def _content(
    diff: Diff,
    headline: Delta,
    judged: Delta,
    change: Decision | None,
    steps: dict[SideName, _Steps],
    *,
    several: bool,
) -> RunsContent:
    every = [value for side in SIDES for value in known(headline.samples.get(side, ()))]
    axis = axis_of(every, margin=0.06)
    numbers = step_axis([step for found in steps.values() for step in found.steps])
    values = axis_of(value for found in steps.values() for value in found.values)
    return RunsContent(
        metric=safe_text(headline.metric, _NAME) if several else "",
        steps_metric=_steps_metric(diff, headline, several=several) if steps else "",
        runs=tuple(_side_runs(diff, headline, judged, side, axis) for side in SIDES) if several else (),
        ticks=axis.ticks(headline.unit) if several else (),
        change=None if change is None else _change_bar(change, headline),
        left_out=tuple(_left_out(diff)) if several else (),
        steps=tuple(_side_steps(diff, headline, side, found, numbers, values) for side, found in steps.items()),
        values=values.ticks(headline.unit, most=6) if steps else (),
        numbers=step_ticks(numbers) if steps else (),
    )


def _steps_metric(diff: Diff, headline: Delta, *, several: bool) -> str:
    """What the steps measure: the headline, or of a job of several ranks, the mean over these."""
    if headline.metric == PATH:
        return tr("{metric}, mean over ranks", metric=rank_headline(diff.overall))
    return "" if several else safe_text(headline.metric, _NAME)


def _runs_of(diff: Diff, side: SideName) -> tuple[RunInfo, ...]:
    return (diff.baseline if side == "baseline" else diff.new).runs


def _run_name(diff: Diff, side: SideName, run: int) -> str:
    runs = _runs_of(diff, side)
    return safe_text(runs[run].name, _NAME) if run < len(runs) and runs[run].name else tr("run {n}", n=run + 1)


def _side_runs(diff: Diff, headline: Delta, judged: Delta, side: SideName, axis: Axis) -> SideRuns:
    counts = judged.samples.get(side, ())
    dots = []
    for run, value in enumerate(headline.samples.get(side, ())):
        if value is None or not math.isfinite(value):
            continue
        hollow = run < len(counts) and counts[run] is None
        label = with_label(_run_name(diff, side, run), quantity.quantity(value, headline.unit))
        dots.append(RunDot(axis.at(value), 0, label, hollow))
    dots.sort(key=lambda dot: dot.x)
    dots = [RunDot(dot.x, _LEVELS[place % len(_LEVELS)], dot.label, dot.hollow) for place, dot in enumerate(dots)]
    values = known(counts)
    middle = median(values) if values else None
    number = trn("{n} run", "{n} runs", len(values))
    text = tr("{number}, median {value}", number=number, value=quantity.quantity(middle, headline.unit))
    every = [value for value in known(headline.samples.get(side, ())) if math.isfinite(value)]
    edge = axis.farthest(every)
    if edge is not None:
        beyond, shown = sum(not axis.holds(value) for value in every), quantity.quantity(edge, headline.unit)
        text += " · " + (
            trn("{n} run at the edge, up to {value}", "{n} runs at the edge, up to {value}", beyond, value=shown)
            if edge > axis.high
            else trn(
                "{n} run at the edge, down to {value}", "{n} runs at the edge, down to {value}", beyond, value=shown
            )
        )
    return SideRuns(side, side_label(side), tuple(dots), None if middle is None else axis.at(middle), text)


def _change_bar(decision: Decision, headline: Delta) -> ChangeBar | None:
    found = decision.interval
    ends = found.low, found.change, found.high
    if not all(map(math.isfinite, ends)) or tells_nothing(decision):
        return None
    factor, unit = (100.0, "") if decision.relative else (1.0, headline.unit)
    low, change, high = (value * factor for value in ends)
    axis = axis_of((low, change, high, 0.0), margin=0.08)
    ticks = tuple(Tick(tick.at, f"{tick.label} %" if decision.relative else tick.label) for tick in axis.ticks(unit))
    return ChangeBar(
        axis.at(low), axis.at(change), axis.at(high), axis.at(0.0), change_text(decision, headline.unit), ticks
    )


def change_text(decision: Decision, unit: str) -> str:
    """The change and its interval in words."""
    found = decision.interval
    change, low, high = (_moved(value, decision, unit) for value in (found.change, found.low, found.high))
    if tells_nothing(decision):
        return tr(
            "{change}; too few runs: as runs differ by {noise}, chance alone could show any change",
            change=change,
            noise=spread_text(decision),
        )
    text = tr("{change}, interval {low} … {high}", change=change, low=low, high=high)
    return with_source(decision, text)


def _moved(value: float, decision: Decision, unit: str) -> str:
    if decision.relative:
        return quantity.change(1 + value)
    return quantity.signed_quantity(value, unit)


def _left_out(diff: Diff) -> list[str]:
    """The runs that do not count, one text for those of one reason."""
    found: dict[tuple[SideName, str], list[str]] = {}
    for side in SIDES:
        for place, run in enumerate(_runs_of(diff, side)):
            if run.left_out:
                found.setdefault((side, safe_text(said(run.left_out))), []).append(_run_name(diff, side, place))
    return [
        tr("Not counted, {side}: {runs}: {reason}.", side=side_label(side), runs=_listed(runs), reason=reason)
        for (side, reason), runs in found.items()
    ]


def _listed(names: Sequence[str]) -> str:
    shown = listed(names[:_NAMED])
    return shown if len(names) <= _NAMED else tr("{names} and {n} more", names=shown, n=len(names) - _NAMED)


def _steps_of(diff: Diff, headline: Delta, side: SideName) -> _Steps:
    """The steps of the runs of a side that count: from the log, else from the profiles, as means over ranks."""
    series = [one for one in diff.series if one.metric == headline.metric and one.side == side]
    counts = [one for one in series if one.run in counted(diff, side)]
    series = counts or series
    points = [
        (step, value)
        for one in series
        for step, value in zip(one.steps, one.values, strict=True)
        if math.isfinite(value)
    ]
    if not series and headline.metric in PROFILED_STEPS:
        for row in rows_of(diff, "steps"):
            step, value = row.get(f"{side}_step"), row.get(side)
            if quantity.is_number(step) and quantity.is_number(value) and math.isfinite(value):
                points.append((int(step), float(value)))
    points.sort()
    values = [value for _, value in points]
    chosen = kept(values, MOST_DOTS)
    return _Steps(tuple(points[at][0] for at in chosen), tuple(values[at] for at in chosen), len(series))


def _side_steps(diff: Diff, headline: Delta, side: SideName, found: _Steps, numbers: Axis, values: Axis) -> SideSteps:
    dots = dots_of(found.steps, found.values, numbers, values)
    label = side_label(side)
    edge = values.farthest(found.values)
    if edge is not None:
        beyond, value = sum(not values.holds(value) for value in found.values), quantity.quantity(edge, headline.unit)
        label += " · " + (
            trn("{n} step at the edge, up to {value}", "{n} steps at the edge, up to {value}", beyond, value=value)
            if edge > values.high
            else trn(
                "{n} step at the edge, down to {value}", "{n} steps at the edge, down to {value}", beyond, value=value
            )
        )
    marks = [
        Mark(numbers.at(event.step), _since(event))
        for event in diff.events
        if event.metric == headline.metric and event.side == side and event.what == EventKind.ONSET
    ]
    return SideSteps(side, label, dots, tuple(marks[:3]))


def _since(event: RunEvent) -> str:
    moved = quantity.moved(event.delta, event.unit, (event.before, event.after))
    if event.last is None:
        return tr("since step {step}: {moved}", step=event.step, moved=moved)
    return tr("steps {step} to {last}: {moved}", step=event.step, last=event.last, moved=moved)


def _finding(diff: Diff, headline: Delta, change: Decision | None) -> str:
    """Since when, where a side changed within its runs; else how sure the runs make the change."""
    onsets = (
        event
        for event in diff.events
        if event.metric == headline.metric and event.what == EventKind.ONSET and event.elsewhere is not True
    )
    first = next(onsets, None)
    if first is not None:
        return tr("{side}, {what}.", side=side_label(first.side), what=_since(first))
    if change is None:
        return ""
    text = change_text(change, headline.unit)
    if change.status not in (Status.REGRESSED, Status.IMPROVED):
        return tr("No certain change was found: {text}.", text=text)
    if not change.measured:
        return tr("The change is likely: {text}.", text=text)
    return tr("The change is certain: {text}.", text=text)


def _note(*, several: bool, logged: bool, steps: bool) -> str:
    texts = []
    if several:
        texts.append(tr("Runs: one dot each, the line is their median; a hollow dot does not count."))
        texts.append(tr("The change is the median over all pairs of runs, its interval that of the gate."))
    if steps and not logged:
        texts.append(tr("Steps: one dot for each profiled step, the mean over ranks and runs."))
    elif steps:
        texts.append(tr("Steps: one dot each, of runs that count; unprofiled and after warm-up where possible."))
    return sentences(texts)


def _table(diff: Diff, headline: Delta, change: Decision | None) -> TextTable:
    rows: list[tuple[str, ...]] = []
    for side in SIDES:
        for run, value in enumerate(headline.samples.get(side, ())):
            info = _runs_of(diff, side)[run] if run < len(_runs_of(diff, side)) else None
            counts = tr("no") if info is not None and info.left_out else tr("yes")
            shown = quantity.quantity(value, headline.unit)
            rows.append(
                (side_label(side), _run_name(diff, side, run), shown, counts, *_extent(diff, headline, side, run))
            )
    if change is not None:
        rows.append((tr("change"), change_text(change, headline.unit), *[""] * 5))
    columns = (tr("side"), tr("run"), tr("value"), tr("counts"), tr("steps"), tr("lowest step"), tr("highest step"))
    right = (False, False, True, False, True, True, True)
    if all(row[-1] in ("", quantity.ABSENT) for row in rows):  # profiles: their steps are means over the runs
        return TextTable(columns[:4], right[:4], tuple(row[:4] for row in rows))
    return TextTable(columns, right, tuple(rows))


def _extent(diff: Diff, headline: Delta, side: SideName, run: int) -> Sequence[str]:
    """The number of steps of a run, the lowest and the highest."""
    found = [one for one in diff.series if (one.metric, one.side, one.run) == (headline.metric, side, run)]
    if not found or not found[0].values:
        return [quantity.ABSENT] * 3
    ends = (quantity.quantity(end(found[0].values), headline.unit) for end in (min, max))
    return [f"{found[0].logged:,}", *ends]
