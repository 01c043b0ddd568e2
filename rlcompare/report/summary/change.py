"""What the change consists of: causes, changes within a run, the parts of the step, and the rest.

The rest is the one number computed here: the headline's change minus the changes of the parts shown beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from rlcompare.compare.evidence import RUN_NOISE
from rlcompare.compare.overall import OUTSIDE, SPEED
from rlcompare.compare.runs import known
from rlcompare.language import tr
from rlcompare.model.diff import TIMERS_OVERLAP, Delta, Diff, Row
from rlcompare.model.words import Presence
from rlcompare.report import quantity
from rlcompare.report.run_events import event_parts
from rlcompare.report.sentences import said
from rlcompare.report.shares import part_of_change, part_text, parts_of, parts_text
from rlcompare.report.step_parts import kinds_of_time, number_of, parts_of_step
from rlcompare.report.summary.item import SummaryItem
from rlcompare.report.tone import tone_of
from rlcompare.text import safe_text

_PARTS_SHOWN = 6
_CAUSE_LIMIT = 330


def cause_item(diff: Diff, headline: Delta | None) -> SummaryItem:
    """The main causes with their parts of the change, and what they leave."""
    if not diff.causes:
        still = headline is not None and tone_of(headline, diff) == "noise"
        if still:
            still_parts = (tr("no change to explain"), *_opposite_parts(diff, headline))
            return SummaryItem("cause", tr("cause"), still_parts, lines=2)
        none = tr("none found: unexplained{why}", why=_may_be_luck(headline))
        return SummaryItem("cause", tr("cause"), (none,))
    sizes = parts_of(diff).causes
    parts = [tr("{part}: ", part=part_of_change(diff, sizes[0]))]
    parts += [tr("And {part}: ", part=part_text(diff, size)) for size in sizes[1:2]]
    first, *second = (
        start + safe_text(said(cause.text), _CAUSE_LIMIT) for cause, start in zip(diff.causes, parts, strict=False)
    )
    left = [_left_after(diff, shown) for shown in (2, 1)]
    return SummaryItem("cause", tr("cause"), (first, *second, *left[0]), lines=None, shorter=((first, *left[1]),))


def _opposite_parts(diff: Diff, headline: Delta | None) -> tuple[str, ...]:
    """The parts of a step that hardly changed which made up for each other, by more than runs differ.

    The two phases that grew and shrank most, else all kinds of time: phases may hide that one made up for another.
    """
    least = RUN_NOISE * max(_size(headline), default=0.0)
    label, parts = parts_of_step(diff)
    phases = sorted(parts if label == "phases" else (), key=lambda row: number_of(row.get("delta")))
    for rows in ([*phases[:1], *phases[-1:]], kinds_of_time(diff)):
        moved = [number_of(row.get("delta")) for row in rows]
        if 0 < least < min(sum(size for size in moved if size > 0), sum(-size for size in moved if size < 0)):
            ordered = sorted(rows, key=lambda row: -abs(number_of(row.get("delta"))))
            first, *others = (_part(row, _size(headline)) for row in ordered if number_of(row.get("delta")))
            return (tr("Parts offset each other: {part}, {part1}", part=first, part1=", ".join(others)),)
    return ()


def _may_be_luck(headline: Delta | None) -> str:
    """A clause for a step time of one run a side that changed by no more than runs of one setting may differ."""
    if headline is None or headline.metric != SPEED or headline.ratio is None or abs(headline.ratio - 1) >= RUN_NOISE:
        return ""
    if any(len(known(values)) > 1 for values in headline.samples.values()):
        return ""
    return tr("; two runs of one setting may differ by {part}", part=f"{RUN_NOISE:.0%}".replace("%", " %"))


def _left_after(diff: Diff, shown: int) -> tuple[str, ...]:
    """The parts of all causes but the first ``shown``, and of what none explains: with theirs, the whole change."""
    parts, others = parts_of(diff), diff.causes[shown:]
    left = parts.unexplained
    rest = part_text(diff, left) if left else ""
    if not others:
        return (tr("Unexplained {rest}.", rest=rest),) if left else ()
    more = parts_text(diff, parts.others(shown))
    if not left:
        return (tr("Other causes {more}.", more=more),)
    return (tr("Other causes {more}, unexplained {rest}.", more=more, rest=rest),)


def event_items(diff: Diff) -> tuple[SummaryItem, ...]:
    """Since when a run is slower or less healthy; nothing if no run changes."""
    parts, tone = event_parts(diff)
    return (SummaryItem("events", tr("within run"), parts, tone, lines=2),) if parts else ()


def phases_item(diff: Diff, headline: Delta | None) -> SummaryItem:
    """The parts of the step, those that changed most first; together they are the change of the headline."""
    label, rows = parts_of_step(diff)
    if not rows:
        return SummaryItem("phases", tr(label), (tr("no device time was recorded"),))
    ordered = sorted(rows, key=lambda row: -abs(number_of(row.get("delta"))))
    size = _size(headline)
    full, *shorter = (_summed(ordered, shown, size) for shown in range(min(len(ordered), _PARTS_SHOWN), 0, -1))
    return SummaryItem("phases", tr(label), full, lines=3, shorter=tuple(shorter))


def _summed(rows: Sequence[Row], shown: int, size: Sequence[float]) -> tuple[str, ...]:
    """The first ``shown`` rows, and the sum of the others."""
    parts = [_part(row, size) for row in rows[:shown]]
    if len(rows) > shown:
        total = sum(number_of(row.get("delta")) for row in rows[shown:])
        parts.append(tr("{n} more {moved}", n=len(rows) - shown, moved=quantity.moved(total, "ms", size)))
    return tuple(parts)


def _part(row: Row, size: Sequence[float]) -> str:
    name, delta, ratio = safe_text(row.get("name"), 40), row.get("delta"), row.get("ratio")
    if not quantity.is_number(delta):
        return f"{name} {quantity.ABSENT}"
    moved = f"{name} {quantity.moved(delta, 'ms', size)}"
    words: dict[str, str] = {Presence.NEW_ONLY: tr("added"), Presence.BASELINE_ONLY: tr("gone")}
    word = words.get(str(row.get("presence")))
    if word is None and quantity.is_number(ratio):
        word = quantity.change(ratio)
    return f"{moved} ({word})" if word else moved


def rest_items(diff: Diff, headline: Delta | None) -> tuple[SummaryItem, ...]:
    """The part of the change that is in none of the parts of the step, if there is any."""
    found = _rest(diff, headline)
    return (found,) if found.parts else ()


def _rest(diff: Diff, headline: Delta | None) -> SummaryItem:
    label, rows = parts_of_step(diff)
    deltas = [row.get("delta") for row in rows if row.get("name") != OUTSIDE]
    if headline is None or headline.delta is None or not any(map(quantity.is_number, deltas)):
        return SummaryItem("rest", tr("rest"), (tr("unknown: there is no change to break down"),), spare=True)
    outside = _outside_profile(diff)
    if label == "phases" and any(finding.key == TIMERS_OVERLAP for finding in diff.quality):
        text = tr("unknown: training's timers overlap")
        return SummaryItem("rest", tr("rest"), (text, *outside), lines=1 + len(outside))
    change = headline.delta * (1e3 if headline.unit == "s" else 1)
    rest = change - sum(map(number_of, deltas))
    moved, left, none = (quantity.moved(value, "ms", _size(headline)) for value in (change, rest, 0.0))
    if left == none:
        return SummaryItem("rest", tr("rest"), outside, lines=len(outside))
    text = (
        tr("{left} of {moved} is not in any phase that both sides time", left=left, moved=moved)
        if label == "phases" and None in deltas
        else tr("{left} of {moved} is not in any phase", left=left, moved=moved)
        if label == "phases"
        else tr("{left} of {moved} is not in any part above", left=left, moved=moved)
    )
    return SummaryItem("rest", tr("rest"), (text, *outside), lines=1 + len(outside))


def _outside_profile(diff: Diff) -> tuple[str, ...]:
    """The part of a profiled step that its profile does not cover, if training timed the step."""
    outside, step = diff.metric("time.outside_profile"), diff.metric("time.profiled_step")
    if outside is None or step is None or max(number_of(outside.baseline), number_of(outside.new)) <= 0:
        return ()
    parts = [quantity.pair(delta.baseline, delta.new, "ms") for delta in (outside, step)]
    return (tr("not in the profile: {part} of the profiled step's {whole}", part=parts[0], whole=parts[1]),)


def _size(headline: Delta | None) -> tuple[float, ...]:
    """The values of the headline in ms. The parts of its change are formatted like them."""
    if headline is None:
        return ()
    factor = 1e3 if headline.unit == "s" else 1.0
    return tuple(abs(number_of(value)) * factor for value in (headline.baseline, headline.new))
