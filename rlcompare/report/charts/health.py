"""Importance sampling and training health over steps: both sides, with healthy ranges, below the time of the step.

At most six metrics are drawn: first those that show a sign of unstable training, are outside their range, or change
within a run; then those that tell most. All share the axis of steps, so that what happens at once stands in line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rlcompare.compare.names import unit_of
from rlcompare.compare.replicates import counted
from rlcompare.language import listed, sentences, tr
from rlcompare.model.diff import ADVICE, Diff, Row, Series
from rlcompare.model.health import HealthRange, health_range
from rlcompare.model.words import SIDES, EventKind, Health, SideName
from rlcompare.report import quantity
from rlcompare.report.charts.axis import Axis, Tick, axis_of, step_axis, step_ticks
from rlcompare.report.charts.chart import Chart, TextTable
from rlcompare.report.charts.marks import Mark
from rlcompare.report.charts.over_steps import ENOUGH_RUNS, Course, band_of, course_of, line_of
from rlcompare.report.findings import MESSAGE_LIMIT
from rlcompare.report.sentences import said
from rlcompare.report.sides import side_label
from rlcompare.report.step_parts import rows_of
from rlcompare.text import safe_text

MOST_PANELS = 6
_NAMED = 8
_NAME = 60
_NEAR = 2.0
"""The end of a range is on the axis if it is at most this many times the extent of the values away."""

_TIMER = "timing_s/step"
_TELLING = (
    "rollout_is_eff_sample_size",
    "mismatch_kl",
    "rollout_corr/kl",
    "actor/entropy",
    "actor/entropy_loss",
    "actor/grad_norm",
    "critic/rewards/mean",
    "critic/score/mean",
    "response_length/mean",
    "actor/ppo_kl",
    "actor/kl_loss",
    "rollout_is_mean",
    "training/rollout_probs_diff_mean",
    "response_length/clip_ratio",
    "response/aborted_ratio",
    "critic/vf_loss",
    "actor/pg_loss",
)
"""Ends of the names of metrics, those that tell most of health first."""

_NOT_HEALTH = ("timing_s/", "perf/", "prompt_length/", "num_turns/")


class SideLine(NamedTuple):
    """A side in a panel: paths in a box of 1000 × 100 (``marks``). The band is empty with one run.

    Attributes:
        beyond: the values that stand at an edge, as ``place:value``: the place of the point in the line.
    """

    side: SideName
    label: str
    line: str
    band: str
    beyond: str


class Range(NamedTuple):
    """The healthy range in a panel: where it begins from above and its height, in percent of the panel's height."""

    start: float
    height: float


class HealthPanel(NamedTuple):
    """A metric over steps.

    Attributes:
        pair: the values of both sides, as in the section ``metrics``.
        ideal: the healthy range in words; empty if none is defined.
        axis: that of the values; the page's script reads the lines back with it.
        beyond: the value farthest beyond the axis, with the side on which it is.
        shared: steps at which the time of the step changed.
    """

    name: str
    pair: str
    ideal: str
    healthy: Range | None
    lines: tuple[SideLine, ...]
    ticks: tuple[Tick, ...]
    marks: tuple[Mark, ...]
    shared: tuple[Mark, ...]
    beyond: str
    axis: Axis


class HealthContent(NamedTuple):
    """The time of the step first, if it was logged."""

    panels: tuple[HealthPanel, ...]
    numbers: tuple[Tick, ...]
    steps: Axis
    sides: tuple[tuple[SideName, str], ...]


_Courses = Mapping[SideName, Course]


def health_chart(diff: Diff) -> Chart | None:
    """Health over steps; None if no metric of health was logged at two steps."""
    by_metric = _series_of(diff)
    ordered = _distinct(_ordered(diff, by_metric), by_metric)
    shown = [name for name in ordered if _is_course(by_metric[name])][:MOST_PANELS]
    if not shown:
        return None
    time = [name for name in dict.fromkeys((diff.headline, _TIMER)) if name in by_metric][:1]
    courses = {name: _courses(diff, by_metric[name]) for name in (*time, *shown)}
    steps = [round(point.step) for found in courses.values() for course in found.values() for point in course.points]
    numbers = step_axis(steps)
    shared = tuple(Mark(numbers.at(step), "") for step in _onsets(diff, time))
    panels = tuple(
        _panel(diff, name, found, numbers, () if name in time else shared) for name, found in courses.items()
    )
    sides = tuple((side, side_label(side)) for side in SIDES if any(side in found for found in courses.values()))
    return Chart(
        name="health",
        title=tr("Importance sampling and training health"),
        finding=_finding(diff),
        note=_note(courses, [name for name in ordered if name not in shown]),
        content=HealthContent(panels, step_ticks(numbers), numbers, sides),
        table=_table(diff, courses),
    )


def _series_of(diff: Diff) -> dict[str, list[Series]]:
    """The series by metric: those of runs that count, or all of a side if none does."""
    found: dict[str, list[Series]] = {}
    counts = {side: frozenset(counted(diff, side)) for side in SIDES}
    for one in diff.series:
        if one.run in counts[one.side] or not counts[one.side]:
            found.setdefault(one.metric, []).append(one)
    return found


def _is_course(series: Iterable[Series]) -> bool:
    return any(sum(map(math.isfinite, one.values)) > 1 for one in series)


def _courses(diff: Diff, series: Sequence[Series]) -> dict[SideName, Course]:
    made = {side: course_of([one for one in series if one.side == side]) for side in SIDES}
    return {side: course for side, course in made.items() if course.points}


def _ordered(diff: Diff, by_metric: Mapping[str, Sequence[Series]]) -> list[str]:
    """The metrics of health, those that a reader must see first."""
    names = [name for name in by_metric if not name.startswith(_NOT_HEALTH)]
    signs = [symptom.metric for symptom in diff.symptoms]
    outside = [
        str(row["name"]) for row in rows_of(diff, "metrics")
        if Health.OUTSIDE in (row.get("new_health"), row.get("baseline_health"))
    ]  # fmt: skip
    known = sorted((name for name in names if _rank(name) < len(_TELLING)), key=lambda name: (_rank(name), name))
    changed = [
        event.metric for event in diff.events
        if event.what in (EventKind.ONSET, EventKind.TREND) and event.elsewhere is not True and event.metric in known
    ]  # fmt: skip
    flat = [name for name in known if len({value for one in by_metric[name] for value in one.values}) < 2]
    telling = [name for name in known if name not in flat]
    return [name for name in dict.fromkeys((*signs, *outside, *changed, *telling, *flat)) if name in names]


def _rank(name: str) -> int:
    return next((place for place, end in enumerate(_TELLING) if f"/{name}".endswith(f"/{end}")), len(_TELLING))


def _distinct(names: Iterable[str], by_metric: Mapping[str, Sequence[Series]]) -> list[str]:
    """The metrics without those that have the values of an earlier one, as score and reward often have."""
    found: dict[tuple[object, ...], str] = {}
    for name in names:
        found.setdefault(tuple((one.side, one.run, one.steps, one.values) for one in by_metric[name]), name)
    return list(found.values())


def _onsets(diff: Diff, metrics: Sequence[str]) -> list[int]:
    return [event.step for event in diff.events if event.what == EventKind.ONSET and event.metric in metrics][:3]


def _panel(diff: Diff, name: str, courses: _Courses, numbers: Axis, shared: tuple[Mark, ...]) -> HealthPanel:
    ranges = {side: _range(diff, name, side) for side in SIDES}
    limits = ranges["new"] or ranges["baseline"]
    values = [value for course in courses.values() for value in course.values()]
    axis = _axis(values, limits)
    unit = _unit(name)
    far = axis.farthest(values)
    return HealthPanel(
        name=safe_text(name, _NAME),
        pair=_pair(diff, name, unit),
        ideal=_ideal(ranges),
        healthy=None if limits is None else _healthy(axis, limits),
        lines=tuple(
            SideLine(
                side,
                side_label(side),
                line_of(course, numbers, axis),
                band_of(course, numbers, axis),
                _values(course, axis),
            )
            for side, course in courses.items()
        ),
        ticks=axis.ticks(unit, most=5),
        marks=_marks(diff, name, numbers),
        shared=shared,
        beyond="" if far is None else _beyond(far, axis, unit),
        axis=axis,
    )


def _values(course: Course, axis: Axis) -> str:
    points = enumerate(course.points)
    return " ".join(f"{place}:{point.value:.4g}" for place, point in points if not axis.holds(point.value))


def _beyond(far: float, axis: Axis, unit: str) -> str:
    value = quantity.quantity(far, unit)
    return f"▲ {tr('up to {value}', value=value)}" if far > axis.high else f"▼ {tr('down to {value}', value=value)}"


def _unit(name: str) -> str:
    unit = unit_of(name)
    return unit if unit in ("s", "ms", "bytes") else ""


def _axis(values: Sequence[float], limits: HealthRange | None) -> Axis:
    axis = axis_of(values, margin=0.08)
    reach = _NEAR * (axis.high - axis.low)
    ends = [] if limits is None else [end for end in (limits.low, limits.high) if end is not None]
    near = [end for end in ends if axis.low - reach <= end <= axis.high + reach]
    if not near:
        return axis
    low, high = min(axis.low, *near), max(axis.high, *near)
    space = 0.04 * (high - low)
    return Axis(low - space if low < axis.low else low, high + space if high > axis.high else high)


def _healthy(axis: Axis, limits: HealthRange) -> Range | None:
    """The part of the range that is on the axis; None if none is."""
    top = axis.up(axis.high if limits.high is None else limits.high)
    bottom = axis.up(axis.low if limits.low is None else limits.low)
    return Range(top, bottom - top) if bottom > top else None


def _range(diff: Diff, name: str, side: SideName) -> HealthRange | None:
    """The range of the metric as the side logged it, under its settings."""
    row = _row(diff, name)
    logged = str(row.get(f"{side}_logged_as") or name).partition(", ")[0]
    env = (diff.baseline if side == "baseline" else diff.new).env
    return health_range(logged if "/" in logged else name, env)


def _ideal(ranges: Mapping[SideName, HealthRange | None]) -> str:
    words = {side: said(found.ideal) for side, found in ranges.items() if found is not None}
    if len(set(words.values())) > 1:
        return tr("healthy: {new}; on the baseline {baseline}", new=words["new"], baseline=words["baseline"])
    return tr("healthy: {range}", range=next(iter(words.values()))) if words else ""


def _row(diff: Diff, name: str) -> Row:
    return next((row for row in rows_of(diff, "metrics") if row.get("name") == name), {})


def _pair(diff: Diff, name: str, unit: str) -> str:
    """The values of both sides: those of the overall metrics, else of the section ``metrics``."""
    delta = diff.metric(name)
    row = _row(diff, name)
    values = (delta.baseline, delta.new) if delta is not None else (row.get("baseline"), row.get("new"))
    return quantity.pair(*values, unit) if any(map(quantity.is_number, values)) else ""


def _marks(diff: Diff, name: str, numbers: Axis) -> tuple[Mark, ...]:
    """Where signs of unstable training begin, and changes within a run."""
    steps = [
        (symptom.since_step, symptom.side)
        for symptom in diff.symptoms
        if symptom.metric == name and symptom.since_step is not None
    ]
    steps += [
        (event.step, event.side) for event in diff.events if event.metric == name and event.what == EventKind.ONSET
    ]
    found: dict[int, SideName] = {}
    for step, side in steps:
        found.setdefault(step, side)
    return tuple(
        Mark(numbers.at(step), tr("{side}: step {step}", side=side_label(side), step=step))
        for step, side in list(found.items())[:3]
    )


def _finding(diff: Diff) -> str:
    if diff.symptoms:
        return safe_text(said(diff.symptoms[0].text.partition(ADVICE)[0]), MESSAGE_LIMIT)
    outside = [
        safe_text(row["name"], _NAME) for row in rows_of(diff, "metrics") if row.get("new_health") == Health.OUTSIDE
    ]
    if outside:
        return tr("Outside of the healthy range on the new side: {names}.", names=listed(outside[:_NAMED]))
    return tr("No sign of unstable training was found.")


def _note(courses: Mapping[str, _Courses], others: Sequence[str]) -> str:
    texts = [tr("Shaded: the healthy range. Vertical lines: where a metric, or the time of the step, changed.")]
    runs = max(course.runs for found in courses.values() for course in found.values())
    if runs >= ENOUGH_RUNS:
        texts.append(tr("A line is the median of the runs that count; its band is the 10th to 90th percentile."))
    elif runs > 1:
        texts.append(
            tr("A line is the median of the runs that count; its band reaches from the lowest to the highest.")
        )
    if others:
        names = listed(safe_text(name, _NAME) for name in others[:_NAMED])
        more = tr(" and {n} more", n=len(others) - _NAMED) if len(others) > _NAMED else ""
        texts.append(tr("Not drawn: {names}{more}.", names=names, more=more))
    return sentences(texts)


def _table(diff: Diff, courses: Mapping[str, _Courses]) -> TextTable:
    rows = []
    for name, found in courses.items():
        for side, course in found.items():
            unit, values = _unit(name), [point.value for point in course.points]
            first, last = round(course.points[0].step), round(course.points[-1].step)
            shown = (values[0], values[-1], min(values), max(values))
            texts = (quantity.quantity(value, unit) for value in shown)
            limits = _range(diff, name, side)
            ideal = quantity.ABSENT if limits is None else said(limits.ideal)
            rows.append((safe_text(name, _NAME), side_label(side), f"{first}–{last}", *texts, ideal))
    columns = (
        tr("metric"),
        tr("side"),
        tr("steps"),
        tr("first"),
        tr("last"),
        tr("lowest"),
        tr("highest"),
        tr("healthy"),
    )
    return TextTable(columns, (False, False, False, True, True, True, True, False), tuple(rows))
