"""What happens within single runs, as texts: one line of the summary, and the list of a report."""

from __future__ import annotations

from dataclasses import replace
from math import isclose
from typing import NamedTuple

from rlcompare.compare.names import polarity_of
from rlcompare.compare.run_events import MORE_THAN_WHOLE, is_alike
from rlcompare.language import mark, tr
from rlcompare.model.diff import Diff, EventFact, RunEvent
from rlcompare.model.words import EventKind, Polarity, SideName
from rlcompare.report import quantity
from rlcompare.report.sentences import said
from rlcompare.text import safe_text

SHOWN = 20
"""Maximum number of events in the list of a report; diff.json has all."""

_SUMMARY = (EventKind.ONSET, EventKind.TREND)
_WORK = ("response_length/", "prompt_length/", "num_turns/", "perf/total_num_tokens", "global_seqlen/", "actor/pg_loss")
"""Metrics whose changes are no news of their own: the work that a trained model makes for itself, and its loss."""

_LIMIT = 400
_KINDS = {
    EventKind.ONSET: mark("onset"),
    EventKind.TREND: mark("trend"),
    EventKind.SPIKES: mark("spikes"),
    EventKind.TWO_LEVELS: mark("two levels"),
    EventKind.TEST_OR_SAVE: mark("test or save"),
    EventKind.FIRST_STEPS: mark("first steps"),
}


class EventView(NamedTuple):
    """One event of the list; its tone is ``caution`` if the metric became worse and the other side's did not."""

    kind: str
    tone: str
    text: str


def event_views(diff: Diff) -> tuple[EventView, ...]:
    """The events of a report's list."""
    return tuple(
        EventView(tr(_KINDS[event.what]), _tone(event), safe_text(said(event.text), _LIMIT))
        for event in diff.events[:SHOWN]
    )


def event_parts(diff: Diff) -> tuple[tuple[str, ...], str]:
    """The parts of the summary's line and its tone: the first event of each side that the other side does not have."""
    news = [event for event in diff.events if _is_news(event)]
    first = [next((event for event in news if event.side == side), None) for side in ("new", "baseline")]
    found = [event for event in first if event is not None]
    parts = tuple(part for event in found for part in _parts(*_with_further(diff, event), _runs_with(diff, event)))
    return parts, "caution" if any(_tone(event) for event in found) else ""


def _with_further(diff: Diff, event: RunEvent) -> tuple[RunEvent, int]:
    """An event with those around it that move its metric in the same direction, and the number of them all."""
    own = [one for one in diff.events if _series_of(one) == _series_of(event)]
    own.sort(key=lambda one: one.step)
    first = last = own.index(event)
    while first and _goes_on(own[first - 1], own[first]):
        first -= 1
    while last + 1 < len(own) and _goes_on(own[last], own[last + 1]):
        last += 1
    begun, ended = own[first], own[last]
    return replace(event, step=begun.step, before=begun.before, last=ended.last, after=ended.after), last - first + 1


def _series_of(event: RunEvent) -> tuple[EventKind, SideName, int, str]:
    return event.what, event.side, event.run, event.metric


def _goes_on(event: RunEvent, other: RunEvent) -> bool:
    """Whether the next event of a series begins where one ends, from its level, and moves the metric on."""
    begins = event.what == EventKind.ONSET and event.last is not None and other.step > event.last
    alike = other.elsewhere == event.elsewhere and other.delta * event.delta > 0
    return begins and alike and isclose(other.before, event.after, rel_tol=1e-6)


def _is_news(event: RunEvent) -> bool:
    if event.what not in _SUMMARY or event.elsewhere is True or event.metric.startswith(_WORK):
        return False
    return event.what == EventKind.ONSET or event.unit == "s" or "max_memory" in event.metric


def _tone(event: RunEvent) -> str:
    if event.what not in _SUMMARY or event.elsewhere is True or event.side != "new":
        return ""
    worse = {Polarity.LOWER: event.delta > 0, Polarity.HIGHER: event.delta < 0}
    return "caution" if worse.get(polarity_of(event.metric)) else ""


def _runs_with(diff: Diff, event: RunEvent) -> tuple[int, int]:
    """In how many runs of its side an event happens alike, and of how many."""
    alike = {one.run for one in diff.events if one.side == event.side and is_alike(event, one)}
    return len(alike), len((diff.new if event.side == "new" else diff.baseline).runs)


def _parts(event: RunEvent, jumps: int, runs: tuple[int, int]) -> tuple[str, ...]:
    span = {"first": event.step, "last": event.last}
    if event.what == EventKind.TREND:
        since = tr("over steps {first}–{last}", **span)
    else:
        since = tr("since step {first}", **span) if event.last is None else tr("steps {first}–{last}", **span)
    levels = quantity.pair(event.before, event.after, event.unit) if event.unit == "s" else _brief(event)
    moved = quantity.moved(event.delta, event.unit, (event.before, event.after)) if event.unit == "s" else ""
    change = f"{moved} ({levels})" if moved else levels
    name = safe_text(event.metric, 40)
    timers = [fact for fact in event.facts if event.unit == "s" and fact.name.startswith("timing_s/")]
    other = tr("not in the baseline") if event.side == "new" else tr("not in the new side")
    alone = (other,) if event.elsewhere is False else ()
    held = (_held(fact, event.delta) for fact in timers[:1] if jumps == 1)  # they are those of the first one
    text = f"{since} {name} {change}"
    if jumps > 1:
        text = tr("{text} in {n} jumps", text=text, n=jumps)
    if runs[0] < runs[1] and jumps == 1:  # they have this one
        text = tr("in {n} of {n1} runs {text}", n=runs[0], n1=runs[1], text=text)
    return (text if event.side == "new" else tr("baseline: {text}", text=text), *alone, *held)


def _held(fact: EventFact, whole: float) -> str:
    """A timer's part of a change; one that others offset is larger than the whole."""
    time, timer = quantity.signed_quantity(fact.delta, "s"), safe_text(fact.name, 40)
    if abs(fact.delta) > MORE_THAN_WHOLE * abs(whole):
        return tr("{timer} alone {time}", timer=timer, time=time)
    return tr("{time} of it {timer}", time=time, timer=timer)


def _brief(event: RunEvent) -> str:
    return f"{quantity.brief(event.before)} → {quantity.brief(event.after)}"
