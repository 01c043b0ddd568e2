"""Which phase, rank and step the report's timeline shows, and what the stores know of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rlcompare.compare.records import TimelineBusy, TimelinePhase, TimelineShown, TimelineTask
from rlcompare.compare.rollups import Rollups
from rlcompare.model import timeline as model
from rlcompare.model.diff import Cause, Delta, Row, Section, Value

_OUTSIDE = "(outside)"


def timeline_of(
    rollups: Rollups, sections: Mapping[str, Section], causes: Sequence[Cause], headline: Delta | None
) -> model.Timeline | None:
    """The timeline of the phase that changed most, else of the step; None if a side has no device tasks."""
    known = {row.phase for row in rollups.rows(TimelinePhase)}
    if not known:
        return None
    grew = headline is None or headline.delta is None or headline.delta >= 0
    phase = _phase(sections["phases"].rows, known, 1 if grew else -1)
    if phase not in known:
        return None
    member = next((cause.member for cause in causes if cause.member is not None), None)
    shown = rollups.rows_with(TimelineShown, {"phase": phase, "member": member})
    baseline, new = (_side(rollups, row, phase) for row in shown)
    return model.Timeline(phase, baseline, new)


def _phase(rows: Sequence[Row], known: set[str | None], sign: int) -> str | None:
    """The phase that changed most in the direction of the headline; None: the whole step."""
    found = [row for row in rows if row["name"] in known or row["name"] == _OUTSIDE]
    if not found:
        return None if None in known else min(filter(None, known))
    most = max(found, key=lambda row: (_number(row["delta"]) * sign, _number(row["new"]), str(row["name"])))["name"]
    return str(most) if most in known else None


def _number(value: Value) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _side(rollups: Rollups, shown: TimelineShown, phase: str | None) -> model.TimelineSide:
    values = {"phase": phase, "capture": shown.capture}
    with rollups.opened(shown.side, shown.run):
        busy = rollups.rows_with(TimelineBusy, values)
        tasks = rollups.rows_with(TimelineTask, values)
    return model.TimelineSide(
        run=shown.run,
        member=shown.member,
        device_id=shown.device_id,
        step=shown.step,
        steps=shown.steps,
        calls=shown.calls,
        span_ns=shown.span_ns,
        bucket_ns=shown.bucket_ns,
        busy_ns={row.kind: tuple(row.busy_ns) for row in busy},
        tasks=tuple(model.TimelineTask(*row) for row in tasks),
    )
