"""What a device did in the phase that changed most: one lane per kind of work, both sides on one scale of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rlcompare.language import listed, sentences, tr, with_label
from rlcompare.model.diff import Diff
from rlcompare.model.timeline import TIMELINE_KINDS, Timeline, TimelineSide, TimelineTask
from rlcompare.model.words import SIDES, SideName
from rlcompare.report.charts.axis import Tick
from rlcompare.report.charts.chart import Chart, TextTable
from rlcompare.report.quantity import moved, pair, quantity, share
from rlcompare.report.sentences import named
from rlcompare.report.sides import side_label
from rlcompare.text import safe_text

_HEIGHT = 100
_WIDTH = 1000
"""A lane's picture in its own units: it is stretched to the width of the page."""

_NUMBERED = 6
"""Tasks of a side that are marked with a number."""

_APART = 3.0
"""Least distance of the numbers of two marks, in percent of the width."""

_MOST_BUCKETS = 2000
_MOST_TASKS = 100
"""More than rlcompare writes: a diff.json is untrusted."""

_ALIKE = 0.02


class Lane(NamedTuple):
    """One kind of work of one side.

    Attributes:
        label: its name, with its time and the part of the timeline that this is.
        path: SVG path, 1000 wide and 100 high. The height of each step is the busy part of this bucket.
    """

    kind: str
    label: str
    path: str


class Mark(NamedTuple):
    """One of the longest tasks.

    Attributes:
        number: empty where the next mark is too close to write it.
        x, width, middle: in percent of the picture; ``middle`` is where the number is written.
        text: its name, duration and place.
    """

    kind: str
    number: str
    x: float
    width: float
    middle: float
    text: str


class SideLanes(NamedTuple):
    """One side. ``width``: its length in percent of the longer side's."""

    side: SideName
    caption: str
    label: str
    width: float
    lanes: tuple[Lane, ...]
    marks: tuple[Mark, ...]


class TimelineContent(NamedTuple):
    """What the template draws."""

    sides: tuple[SideLanes, ...]
    ticks: tuple[Tick, ...]


def timeline_chart(diff: Diff) -> Chart | None:
    """The timeline; None if a side has none."""
    timeline = diff.timeline
    if timeline is None or not all(_is_sound(timeline.side(side)) for side in SIDES):
        return None
    longest = max(timeline.baseline.span_ns, timeline.new.span_ns)
    kinds = [kind for kind in TIMELINE_KINDS if any(_ns(timeline.side(side), kind) for side in SIDES)]
    content = TimelineContent(
        tuple(_lanes(timeline.side(side), side, kinds, longest) for side in SIDES), _ticks(longest)
    )
    phase = safe_text(timeline.phase)
    return Chart(
        name="timeline",
        title=tr("Timeline of {phase}", phase=phase) if timeline.phase else tr("Timeline of a step"),
        finding=_finding(timeline, kinds),
        note=_note(timeline),
        content=content,
        table=_table(timeline, kinds),
    )


def kind_text(kind: str) -> str:
    """What a device does in a lane."""
    return {
        "compute": tr("compute"),
        "comm": tr("communication"),
        "copy": tr("copies"),
        "host": tr("idle, waiting for the host"),
        "queue": tr("idle, waiting for its own queue"),
    }[kind]


def _is_sound(side: TimelineSide) -> bool:
    buckets = [len(values) for values in side.busy_ns.values()]
    return side.span_ns > 0 and side.bucket_ns > 0 and max(buckets, default=0) <= _MOST_BUCKETS


def _ns(side: TimelineSide, kind: str) -> int:
    return sum(side.busy_ns.get(kind, ()))


def _ms(ns: float) -> str:
    return quantity(ns / 1e6, "ms")


def _lanes(side: TimelineSide, name: SideName, kinds: Sequence[str], longest: int) -> SideLanes:
    lanes = []
    for kind in kinds:
        ns = _ns(side, kind)
        label = f"{kind_text(kind)} · {listed((_ms(ns), share(ns / side.span_ns)))}"
        lanes.append(Lane(kind, label, _path(side, side.busy_ns.get(kind, ()), longest)))
    caption = tr(
        "{member}, step {step}: {time}", member=safe_text(named(side.member)), step=side.step, time=_ms(side.span_ns)
    )
    if side.calls is not None and side.calls > 1:
        caption = f"{caption} · " + tr("one call of {n}", n=side.calls)
    spoken = sentences(
        (tr("{text}.", text=with_label(side_label(name), caption)), tr("; ").join(lane.label for lane in lanes))
    )
    return SideLanes(name, caption, spoken, _percent(side.span_ns, longest), tuple(lanes), _marks(side, longest))


def _path(side: TimelineSide, busy: Sequence[int], longest: int) -> str:
    """The outline of a lane. Neighbours of equal height are one step; a bucket is never drawn longer than it is."""
    parts = [f"M0 {_HEIGHT}"]
    height = float(_HEIGHT)
    for number, ns in enumerate(busy):
        start = number * side.bucket_ns
        length = min(side.bucket_ns, side.span_ns - start)
        top = round(_HEIGHT * (1 - min(ns / length, 1.0)), 1) if length > 0 else float(_HEIGHT)
        if top != height:
            parts.append(f"H{_number(start / longest * _WIDTH)}V{_number(top)}")
            height = top
    end = min(len(busy) * side.bucket_ns, side.span_ns)
    return "".join(parts) + f"H{_number(end / longest * _WIDTH)}V{_HEIGHT}Z"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _percent(part: float, whole: float) -> float:
    return round(100 * part / whole, 3)


def _longest(side: TimelineSide) -> list[TimelineTask]:
    """The numbered tasks, in the order of time."""
    found = sorted(side.tasks[:_MOST_TASKS], key=lambda task: (-task.ns, task.start_ns, task.name))[:_NUMBERED]
    return sorted(found, key=lambda task: (task.start_ns, -task.ns, task.name))


def _marks(side: TimelineSide, longest: int) -> tuple[Mark, ...]:
    marks: list[Mark] = []
    last = -_APART
    for number, task in enumerate(_longest(side), 1):
        start, end = max(task.start_ns, 0), min(task.start_ns + task.ns, side.span_ns)
        x, width = _percent(start, longest), _percent(max(end - start, 0), longest)
        middle = min(max(round(x + width / 2, 3), 1.0), 99.0)
        written = str(number) if middle - last >= _APART else ""
        last = middle if written else last
        marks.append(Mark(safe_text(task.kind, 10), written, x, width, middle, _task_text(task)))
    return tuple(marks)


def _task_text(task: TimelineTask) -> str:
    return with_label(safe_text(task.name, 80), listed((_ms(task.ns), _start_text(task))))


def _start_text(task: TimelineTask) -> str:
    return tr("at {time}", time=_ms(task.start_ns)) if task.start_ns >= 0 else tr("begun before")


def _ticks(longest: int) -> tuple[Tick, ...]:
    """Up to five round times."""
    step = 10 ** (len(str(longest)) - 1)
    size = next(size for size in (step / 5, step / 2, step, 2 * step, 5 * step) if longest / size < 5)
    return tuple(
        Tick(_percent(number * size, longest), "0" if not number else _tick(number * size, size))
        for number in range(int(longest / size) + 1)
    )


def _tick(ns: float, size: float) -> str:
    if size >= 1e9:
        return f"{ns / 1e9:g} s"
    return f"{ns / 1e6:g} ms" if size >= 1e3 else f"{ns / 1e3:g} µs"


def _finding(timeline: Timeline, kinds: Sequence[str]) -> str:
    """How much longer or shorter it is, and the kinds of work that changed most in this direction."""
    baseline, new = timeline.baseline, timeline.new
    what = safe_text(timeline.phase) if timeline.phase else tr("the step")
    times = pair(baseline.span_ns / 1e6, new.span_ns / 1e6, "ms")
    delta = new.span_ns - baseline.span_ns
    if abs(delta) <= _ALIKE * baseline.span_ns:
        return tr("On the device shown, {what} lasts about as long on both sides: {times}.", what=what, times=times)
    lasts = tr("On the device shown, {what} lasts {times}.", what=what, times=times)
    changes = [((_ns(new, kind) - _ns(baseline, kind)) * (1 if delta > 0 else -1), kind) for kind in kinds]
    most = [kind for ns, kind in sorted(changes, key=lambda entry: -entry[0])[:2] if ns >= abs(delta) / 10]
    if not most:
        return lasts
    texts = (f"{kind_text(kind)} {pair(_ns(baseline, kind) / 1e6, _ns(new, kind) / 1e6, 'ms')}" for kind in most)
    told = tr("; ").join(texts)
    most_of_all = tr("Grew most: {changes}.", changes=told) if delta > 0 else tr("Fell most: {changes}.", changes=told)
    return sentences((lasts, most_of_all))


def _note(timeline: Timeline) -> str:
    bucket = _ms(max(timeline.baseline.bucket_ns, timeline.new.bucket_ns))
    lanes = tr(
        "Both sides start together. A lane's height is the part of each {bucket} in which the device does this; "
        "computing, communicating and copying may overlap. Numbers mark the longest tasks.",
        bucket=bucket,
    )
    steps = max(timeline.baseline.steps, timeline.new.steps)
    if steps == 1:
        return lanes
    chosen = (
        tr("The call shown is the one closest to the median time of its phase in {n} profiled steps.", n=steps)
        if timeline.phase
        else tr("The step shown is the one closest to the median time of {n} profiled steps.", n=steps)
    )
    return sentences((lanes, chosen))


def _table(timeline: Timeline, kinds: Sequence[str]) -> TextTable:
    def row(what: str, baseline: int, new: int) -> tuple[str, ...]:
        values = baseline / 1e6, new / 1e6
        return what, *(quantity(value, "ms") for value in values), moved(values[1] - values[0], "ms", values)

    rows = [row(tr("length"), timeline.baseline.span_ns, timeline.new.span_ns)]
    rows += [row(kind_text(kind), _ns(timeline.baseline, kind), _ns(timeline.new, kind)) for kind in kinds]
    for side in SIDES:
        for task in sorted(timeline.side(side).tasks[:_MOST_TASKS], key=lambda task: (-task.ns, task.start_ns)):
            time = _ms(task.ns)
            what = with_label(side_label(side), listed((safe_text(task.name), _start_text(task))))
            rows.append((what, *((time, "") if side == "baseline" else ("", time)), ""))
    columns = tr("what"), tr("baseline"), tr("new"), tr("change")
    return TextTable(columns, (False, True, True, True), tuple(rows))
