"""What happens within single runs, as texts: one line of the summary, and the list of a report."""

from __future__ import annotations

from dataclasses import dataclass

from rlcompare.compare.names import polarity_of
from rlcompare.model.diff import Diff, RunEvent
from rlcompare.model.words import EventKind, Polarity
from rlcompare.report import quantity
from rlcompare.text import safe_text

SHOWN = 20
"""Maximum number of events in the list of a report; diff.json has all."""

_SUMMARY = (EventKind.ONSET, EventKind.TREND)
_WORK = ("response_length/", "prompt_length/", "num_turns/", "perf/total_num_tokens", "actor/pg_loss")
"""Metrics whose changes are no news of their own: the work that a trained model makes for itself, and its loss."""

_LIMIT = 400


@dataclass(frozen=True)
class EventView:
    """One event of the list; its tone is ``caution`` if the metric became worse and the other side's did not."""

    kind: str
    tone: str
    text: str


def event_views(diff: Diff) -> tuple[EventView, ...]:
    """The events of a report's list."""
    return tuple(
        EventView(str(event.what).replace("_", " "), _tone(event), safe_text(event.text, _LIMIT))
        for event in diff.events[:SHOWN]
    )


def event_parts(diff: Diff) -> tuple[tuple[str, ...], str]:
    """The parts of the summary's line and its tone: the first event of each side that the other side does not have."""
    news = [event for event in diff.events if _is_news(event)]
    first = [next((event for event in news if event.side == side), None) for side in ("new", "baseline")]
    found = [event for event in first if event is not None]
    parts = tuple(part for event in found for part in _parts(event))
    return parts, "caution" if any(_tone(event) for event in found) else ""


def _is_news(event: RunEvent) -> bool:
    if event.what not in _SUMMARY or event.elsewhere is True or event.metric.startswith(_WORK):
        return False
    return event.what == EventKind.ONSET or event.unit == "s" or "max_memory" in event.metric


def _tone(event: RunEvent) -> str:
    if event.what not in _SUMMARY or event.elsewhere is True or event.side != "new":
        return ""
    worse = {Polarity.LOWER: event.delta > 0, Polarity.HIGHER: event.delta < 0}
    return "caution" if worse.get(polarity_of(event.metric)) else ""


def _parts(event: RunEvent) -> tuple[str, ...]:
    side = "" if event.side == "new" else "baseline: "
    if event.what == EventKind.TREND:
        since = f"over steps {event.step}–{event.last}"
    else:
        since = f"since step {event.step}" if event.last is None else f"steps {event.step}–{event.last}"
    levels = quantity.pair(event.before, event.after, event.unit) if event.unit == "s" else _brief(event)
    moved = quantity.moved(event.delta, event.unit, (event.before, event.after)) if event.unit == "s" else ""
    change = f"{moved} ({levels})" if moved else levels
    name = safe_text(event.metric, 40)
    timers = [fact for fact in event.facts if event.unit == "s" and fact.name.startswith("timing_s/")]
    other = "baseline" if event.side == "new" else "new side"
    alone = (f"not in the {other}",) if event.elsewhere is False else ()
    held = (f"{quantity.signed_quantity(fact.delta, 's')} of it {safe_text(fact.name, 40)}" for fact in timers[:1])
    return (f"{side}{since} {name} {change}", *alone, *held)


def _brief(event: RunEvent) -> str:
    return f"{quantity.brief(event.before)} → {quantity.brief(event.after)}"
