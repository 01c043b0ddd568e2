"""A candidate for a cause in the host itself: it takes another time for the same calls, as a busier CPU does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum

from rlcompare.compare.evidence import Evidence, moved, number, times
from rlcompare.compare.parts import Basis, Candidate, total, whole
from rlcompare.model.words import SIDES

SAME_CALLS = 0.01
"""Part of the calls by which they may differ for an operator to have as many as before."""

LEAST_PACE = 0.05
"""Relative change of the host's time for the same calls from which it is told."""

MOST_COMPARED = 0.8
"""Part of the host's time, on each side, that must be of operators with as many calls as before."""

OUTLIER = 0.3
"""Part of the change of the host's time by which a single operator may have changed."""

MOST_ALIKE = 0.8
"""Part of the host's time that must have changed in the same direction."""

LEAST_WAITED, MOST_WAITED = 0.5, 1.25
"""The change of the waiting as a part of that of a step in which the host is never ahead: its time, by this factor."""

_WAITING = ("operator", "python", "launch")
"""Kinds of waiting that last as long as the host takes to get to the next kernel."""


@dataclass(frozen=True)
class _Operator:
    """An operator's own time on the host per step, in ms, and its calls."""

    baseline: float
    new: float
    same_calls: bool

    @property
    def delta(self) -> float:
        return self.new - self.baseline


def host_pace(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """The host takes longer, or less time, for the same calls of most operators, and the device waits for it.

    That is so if the operators with as many calls as before are most of the host's time on both sides, if most of them
    changed in one direction and none by a large part of it all, and if the device waits longer by about as much.
    """
    factor = pace_of(evidence)
    if not evidence.on_device or factor is None or abs(factor - 1) < LEAST_PACE:
        return
    parts = basis.of_kind(*_WAITING)
    step = fsum(part.baseline for part in basis.parts)
    if (
        not step
        or basis.is_apart(parts.values())
        or not LEAST_WAITED <= total(parts.values()) / ((factor - 1) * step) <= MOST_WAITED
    ):
        return
    busier = "busier" if factor > 1 else "less busy"

    def text(delta: float) -> str:
        return (
            f"The host takes {times(factor)} for the same calls, as where its CPU is {busier}:"
            f" the time the device waits for it {moved(delta)} per step."
        )

    yield Candidate("host_pace", whole(parts), text, "operators", "")


def pace_of(evidence: Evidence) -> float | None:
    """The host's time for the same calls, as a multiple of that before; None if it did not change as a whole."""
    operators = _operators(evidence)
    same = [one for one in operators if one.same_calls]
    of_all = [
        (fsum(getattr(one, side) for one in same), fsum(getattr(one, side) for one in operators)) for side in SIDES
    ]
    (before, _), (after, _) = of_all
    if not all(part > 0 and part >= MOST_COMPARED * all_ for part, all_ in of_all):
        return None
    return after / before if _is_of_most(same, after - before) else None


def _is_of_most(operators: Sequence[_Operator], delta: float) -> bool:
    """Whether most of the host's time changed in this direction, and no single operator by a large part of it."""
    alike = fsum(one.baseline for one in operators if one.delta * delta > 0)
    largest = max(abs(one.delta) for one in operators)
    return alike >= MOST_ALIKE * fsum(one.baseline for one in operators) and largest <= OUTLIER * abs(delta)


def _operators(evidence: Evidence) -> Sequence[_Operator]:
    """The operators that do not wait for the device themselves, by what both sides know of them."""
    waiting = {row["name"] for row in evidence.sections["account"].rows if row["kind"] == "sync"}
    found = []
    for row in evidence.sections["operators"].rows:
        own = [number(row.get(f"{side}_host_self_ms")) for side in SIDES]
        calls = [number(row.get(f"{side}_calls")) or 0.0 for side in SIDES]
        if row["name"] not in waiting and any(own):
            same = min(calls) > 0 and abs(calls[1] - calls[0]) <= SAME_CALLS * calls[0]
            found.append(_Operator(own[0] or 0.0, own[1] or 0.0, same))
    return found
