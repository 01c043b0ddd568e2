"""What happens within the runs of both sides (``Diff.events``), and whether the other side has it too."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from rlcompare.compare.drift import LEAST_STEPS, line_of
from rlcompare.compare.health_levels import show
from rlcompare.compare.names import unit_of
from rlcompare.compare.onset import LEAST_LEVEL
from rlcompare.compare.overall import SPEED
from rlcompare.compare.phrases import seconds, short
from rlcompare.compare.records import RunSeries, TimerPart
from rlcompare.compare.within_run import Run
from rlcompare.model.diff import EventFact, RunEvent
from rlcompare.model.words import SIDES, EventKind, SideName

SAME_STEP = 0.05
"""Two runs change at the same step if it differs by at most this part of it, or by ``LEAST_LEVEL`` steps."""

SAME_SIZE = 2.0
"""Two changes are alike if one is at most this many times the other."""

_NEAR = 20
"""Steps before and after an onset in which the other side's values are looked at."""

MORE_THAN_WHOLE = 1.05
"""A timer's part of a change from which others must have made up for it; below, it may be luck."""

_ORDER = tuple(EventKind)
_COMPARED = (EventKind.ONSET, EventKind.TREND, EventKind.TWO_LEVELS)
"""Kinds of which it is told whether the other side has the same."""

_SIDE = {"baseline": "baseline", "new": "new side"}


def run_events(series: Sequence[RunSeries], inner: Sequence[TimerPart]) -> tuple[RunEvent, ...]:
    """The events of all runs, what matters most first.

    Args:
        series: by run and metric.
        inner: the timers inside phases.
    """
    found: list[RunEvent] = []
    for side, run in sorted({(one.side, one.run) for one in series}):
        own = [one for one in series if (one.side, one.run) == (side, run)]
        found += Run(side, run, own, [timer for timer in inner if (timer.side, timer.run) == (side, run)]).events()
    phases = {one.name for one in series if one.phase is not None}
    several = {side: len({one.run for one in series if one.side == side}) > 1 for side in SIDES}
    made = [replace(event, elsewhere=_elsewhere(event, found, series)) for event in found]
    made = [replace(event, text=_text(event, several[event.side])) for event in made]
    return tuple(sorted(made, key=lambda event: _place(event, phases)))


def _place(event: RunEvent, phases: set[str]) -> tuple[object, ...]:
    rank = 0 if event.metric == SPEED else 1 if event.metric in phases else 3 if event.unit == "s" else 2
    size = -abs(event.delta) if event.unit == "s" else 0.0
    return (
        _ORDER.index(event.what), event.elsewhere is True, event.side != "new", rank, size, event.metric, event.run,
        event.step,
    )  # fmt: skip


def _elsewhere(event: RunEvent, events: Sequence[RunEvent], series: Sequence[RunSeries]) -> bool | None:
    """Whether a run of the other side has the same event; None if none of them logs the metric in these steps.

    In a log of another length the same values may be no event: the values of these steps count.
    """
    others = [one for one in series if one.side != event.side and one.name == event.metric]
    is_trend = event.what == EventKind.TREND
    if not is_trend and any(is_alike(event, other) for other in events if other.side != event.side):
        return True
    if is_trend or event.what == EventKind.ONSET:
        found = {(_rises_alike if is_trend else _jumps_alike)(event, one) for one in others}
        return True if True in found else False if False in found else None
    return False if any(one.steps[0] <= event.step <= one.steps[-1] for one in others) else None


def _rises_alike(event: RunEvent, other: RunSeries) -> bool | None:
    """Whether the line through another run's values in the steps of a trend changes alike; None: they are too few."""
    last = event.step if event.last is None else event.last
    inside = [one for one in zip(other.steps, other.amounts, strict=True) if event.step <= one[0] <= last]
    if len(inside) < LEAST_STEPS or last == event.step:
        return None
    start, end = line_of([amount for _, amount in inside])
    expected = event.delta * (inside[-1][0] - inside[0][0]) / (last - event.step)
    return 1 / SAME_SIZE <= (end - start) / expected <= SAME_SIZE if expected else None


def _jumps_alike(event: RunEvent, other: RunSeries) -> bool | None:
    """Whether another run's values change alike at the step of an onset; None: they are too few on one side of it."""
    place = bisect_left(other.steps, event.step)
    before, after = other.amounts[max(0, place - _NEAR) : place], other.amounts[place : place + _NEAR]
    if min(len(before), len(after)) < LEAST_LEVEL or not event.delta:
        return None
    return 1 / SAME_SIZE <= (median(after) - median(before)) / event.delta <= SAME_SIZE


def is_alike(event: RunEvent, other: RunEvent) -> bool:
    """Whether two events are the same: alike in size, at about the same step."""
    if (event.what, event.metric, event.period) != (other.what, other.metric, other.period) or not event.delta:
        return False
    ratio = other.delta / event.delta
    near = event.what != EventKind.ONSET or abs(other.step - event.step) <= max(LEAST_LEVEL, SAME_STEP * event.step)
    return near and 1 / SAME_SIZE <= ratio <= SAME_SIZE


def _text(event: RunEvent, several: bool) -> str:
    of = f"{'New side' if event.side == 'new' else 'Baseline'}{f', run {event.run + 1}' if several else ''}"
    ends = {True: f"; the {_other(event.side)} has the same", False: f"; the {_other(event.side)} has no such change"}
    said = {
        EventKind.ONSET: _onset,
        EventKind.TREND: _trend,
        EventKind.SPIKES: _longer,
        EventKind.TWO_LEVELS: _two_levels,
        EventKind.TEST_OR_SAVE: _longer,
        EventKind.FIRST_STEPS: _first,
    }[event.what](event)
    with_other = event.what in _COMPARED and event.elsewhere is not None
    return f"{of}: {said}{ends[bool(event.elsewhere)] if with_other else ''}."


def _other(side: SideName) -> str:
    return _SIDE["baseline" if side == "new" else "new"]


def _onset(event: RunEvent) -> str:
    since = f"since step {event.step}" if event.last is None else f"from step {event.step} to {event.last}"
    timers = [fact for fact in event.facts if unit_of(fact.name) == "s" and event.unit == "s"]
    parts = [_part(fact, event.delta) for fact in timers[:2]]
    work = [fact for fact in event.facts if unit_of(fact.name) != "s"]
    beside = [f"{short(fact.name)} from {_amount(fact.before, '')} to {_amount(fact.after, '')}" for fact in work]
    with_work = f", with {' and '.join(beside[:2])} at that step" if beside else ""
    of_it = f", {', '.join(parts)}" if parts else ""
    return f"{_changed(event)} {since} ({_levels(event)}){of_it}{with_work}"


def _part(fact: EventFact, whole: float) -> str:
    """A timer's part of a change; one that others offset is larger than the whole."""
    if abs(fact.delta) > MORE_THAN_WHOLE * abs(whole):
        return f"{short(fact.name)} alone {_amount(abs(fact.delta), 's')}"
    return f"{_amount(abs(fact.delta), 's')} of it {short(fact.name)}"


def _changed(event: RunEvent) -> str:
    if event.unit == "s":
        return f"{short(event.metric)} takes {_amount(abs(event.delta), 's')} {_more(event.delta)}"
    return f"{short(event.metric)} is {'higher' if event.delta > 0 else 'lower'}"


def _trend(event: RunEvent) -> str:
    grows = "grows" if event.delta > 0 else "shrinks"
    ends = f"from {_amount(event.before, event.unit)} to {_amount(event.after, event.unit)}"
    return f"{short(event.metric)} {grows} over steps {event.step} to {event.last}, {ends}"


def _longer(event: RunEvent) -> str:
    every = f", every {event.period} steps" if event.period else ""
    steps = f"in {event.steps} step{'s' if event.steps > 1 else ''}{every}"
    timers = ", ".join(f"{short(fact.name)} {_amount(fact.after, 's')}" for fact in event.facts)
    does = "test or save" if event.steps > 1 else "tests or saves"
    reason = f", which {does} a checkpoint: {timers}" if event.what == EventKind.TEST_OR_SAVE else ""
    return f"{_changed(event)} {steps} ({_levels(event)}){reason}"


def _two_levels(event: RunEvent) -> str:
    low, high = (_amount(value, event.unit) for value in (event.before, event.after))
    return f"{short(event.metric)} takes {high} in {event.steps} steps and {low} in the others, in no order"


def _first(event: RunEvent) -> str:
    steps = f"first {event.steps} steps" if event.steps > 1 else "first step"
    values = [_amount(value, event.unit) for value in (event.after, event.before)]
    return f"{_changed(event)} in the {steps} than later ({' → '.join(values)})"


def _levels(event: RunEvent) -> str:
    return f"{_amount(event.before, event.unit)} → {_amount(event.after, event.unit)}"


def _more(delta: float) -> str:
    return "more" if delta > 0 else "less"


def _amount(value: float | None, unit: str) -> str:
    """A value in three digits, with its unit if that is seconds."""
    if value is None:
        return "—"
    return seconds(value) if unit == "s" else show(value)
