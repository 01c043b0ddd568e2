"""Calls that wait for the device: after one, the host is no longer ahead, and the device waits for its next kernel."""

from __future__ import annotations

from math import fsum

from rlcompare.compare.evidence import Evidence, count, number, short
from rlcompare.model.diff import Row

LEAST_CALLS, MORE_CALLS = 1.0, 0.1
"""Change of the calls per step, and as a part of what they were, from which it is told."""

MOST_OF = 0.8
"""Part of the change of all such calls that one must make up to be named, and not more than its inverse."""


def synchronisations(evidence: Evidence, delta: float) -> tuple[str, tuple[Row, ...]]:
    """The clause and the fact of the call of which there are most more (or fewer) if the device waits longer (or less).

    Args:
        delta: change of the time in which the device waits for the host.
    """
    names = {row["name"] for row in evidence.sections["account"].rows if row["kind"] == "sync"}
    calls = [
        (str(row["name"]), number(row.get("baseline_calls")) or 0.0, number(row.get("new_calls")) or 0.0)
        for row in evidence.sections["apis"].rows
        if row["name"] in names
    ]
    more = [
        (abs(new - old), name, old, new)
        for name, old, new in calls
        if (new - old) * delta > 0 and abs(new - old) >= max(LEAST_CALLS, MORE_CALLS * old)
    ]
    if not more:
        return "", ()
    _, name, old, new = max(more)
    of_all = fsum(new - old for _, old, new in calls)
    # A call that took the place of another is none that was added.
    if not of_all or not MOST_OF <= (new - old) / of_all <= 1 / MOST_OF:
        return "", ()
    clause = f"; the host calls {short(name)} {count(old)} → {count(new)} times per step"
    return clause, ({"name": name, "baseline": old, "new": new},)
