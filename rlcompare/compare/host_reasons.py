"""What of the host's calls a longer wait of the device goes with: calls that wait for the device, or more operators.

After a call that waits for the device, the host is no longer ahead, and the device waits for its next kernel.
"""

from __future__ import annotations

from math import fsum
from typing import NamedTuple

from rlcompare.compare.evidence import Evidence
from rlcompare.compare.host_pace import pace_of
from rlcompare.compare.parts import Basis
from rlcompare.compare.phrases import count, short
from rlcompare.compare.rows import OTHERS, number
from rlcompare.model.diff import Row
from rlcompare.model.words import SIDES

LEAST_CALLS, MORE_CALLS = 1.0, 0.1
"""Change of the calls per step, and as a part of what they were, from which it is told."""

MOST_PACE = 0.5
"""Part of the change of the wait that the host speed may explain: else that is the reason, and not the calls."""

MOST_OF = 0.8
"""Part of the change of all such calls that one must make up to be named, and not more than its inverse."""

LEAST_MORE, LEAST_FIT = 0.05, 0.25
"""Relative change of the number of operators from which it is told, if as much of the step is this part of the wait."""

SAME_CALLS = 0.01
"""Part of the change of the calls by which that of an operator may differ that makes them."""


def synchronisations(evidence: Evidence, delta: float) -> tuple[str, tuple[Row, ...]]:
    """The clause and the facts of the call of which most came (or went), if the device waits longer (or less).

    With it, of operators that synchronise, the one that has as many more: they make these calls.

    Args:
        delta: change of the time in which the device waits for the host.
    """
    names = {row["name"] for row in evidence.sections["account"].rows if row["kind"] == "sync"}
    calls = [
        _Calls(str(row["name"]), number(row.get("baseline_calls")) or 0.0, number(row.get("new_calls")) or 0.0)
        for row in evidence.sections["apis"].rows
        if row["name"] in names
    ]
    # Operators that synchronise do so by a call of the runtime: together they would count twice.
    of_runtime = [call for call in calls if "::" not in call.name] or calls
    more = [
        call
        for call in of_runtime
        if call.more * delta > 0 and abs(call.more) >= max(LEAST_CALLS, MORE_CALLS * call.baseline)
    ]
    if not more:
        return "", ()
    most = max(more, key=lambda call: (abs(call.more), call.name))
    of_all = fsum(call.more for call in of_runtime)
    # A call that took the place of another is none that was added.
    if not of_all or not MOST_OF <= most.more / of_all <= 1 / MOST_OF:
        return "", ()
    step = evidence.profile.baseline if evidence.profile else None
    if ((pace_of(evidence) or 1.0) - 1) * (step or 0.0) / delta > MOST_PACE:
        return "", ()
    clause = f"; the host calls {short(most.name)} {count(most.baseline)} → {count(most.new)} times per step"
    alike = [
        call for call in calls if call not in of_runtime and abs(call.more - most.more) <= SAME_CALLS * abs(most.more)
    ]
    told = [most, *sorted(alike, key=lambda call: (call.baseline, call.name))[:1]]
    for call in told[1:]:
        clause += f", and {short(call.name)} {count(call.baseline)} → {count(call.new)} times"
    return clause, tuple({"name": call.name, "baseline": call.baseline, "new": call.new} for call in told)


def _more_operators(evidence: Evidence, basis: Basis, delta: float) -> str:
    """A clause on how many operators the host runs, if there are more where the device waits longer (or fewer, less).

    Args:
        delta: as for ``synchronisations``.
    """
    rows = [row for row in evidence.sections["operators"].rows if row["name"] != OTHERS]
    before, after = (fsum(number(row.get(f"{side}_calls")) or 0.0 for row in rows) for side in SIDES)
    step = fsum(part.baseline for part in basis.parts)
    if not evidence.on_device or not before or not after or abs(after / before - 1) < LEAST_MORE:
        return ""
    if (after / before - 1) * step * (1 if delta > 0 else -1) < LEAST_FIT * abs(delta):
        return ""
    return f"; the host runs {count(after)} operators per step instead of {count(before)}{_means(basis)}"


def host_reason(evidence: Evidence, basis: Basis, delta: float) -> tuple[str, tuple[Row, ...]]:
    """A clause and facts on why the device waits longer for the host, or less long; empty if nothing tells.

    Args:
        delta: change of the time in which the device waits for the host.
    """
    more = _more_operators(evidence, basis, delta)
    if more:
        return more, ()
    clause, facts = synchronisations(evidence, delta)
    return clause + _means(basis) if clause else "", facts


def _means(basis: Basis) -> str:
    """A clause where the time of the path is that of one rank, say, and calls are counted as means over ranks."""
    waits = basis.of_kind("launch", "queue", "operator", "python", "sync", "unknown")
    return ", as means over ranks" if basis.is_other_on_path(waits.values()) else ""


class _Calls(NamedTuple):
    name: str
    baseline: float
    new: float

    @property
    def more(self) -> float:
        return self.new - self.baseline
