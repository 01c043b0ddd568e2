"""Candidates for causes in the host itself: it takes another time for the same calls, as a busier CPU does."""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum

from rlcompare.compare.evidence import Evidence
from rlcompare.compare.parts import Basis, Candidate, total, whole
from rlcompare.compare.phrases import moved, short, times
from rlcompare.compare.records import HostTime

LEAST_PACE = 0.05
"""Relative change of the host's time for the same calls from which it is told."""

MOST_COMPARED = 0.8
"""Part of the host's time, on each side, that must be of operators with as many calls as before."""

OUTLIER = 0.3
"""Part of the change of the host's time by which a single operator may have changed."""

MOST_ALIKE = 0.8
"""Part of the host's time that must have changed in the same direction."""

LEAST_WAITED, MOST_WAITED = 0.25, 1.25
"""The change of the waiting as a part of that of a time in which the host is never ahead: that time, by this factor."""

_WAITING = ("operator", "python", "launch")
"""Kinds of waiting that last as long as the host takes to get to the next kernel."""


def host_pace(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """The host takes longer, or less time, for the same calls of most operators, and the device waits for it.

    That is so if the operators with as many calls as before are most of the host's time on both sides, if most of them
    changed in one direction and none by a large part of it all, and if the device waits longer by about as much.
    """
    yield from (found for row in evidence.host_times if row.whole and (found := _candidate(evidence, basis, row)))


def host_pace_of_phases(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """The same within each phase: other threads may run the operators of another one."""
    yield from (found for row in evidence.host_times if not row.whole and (found := _candidate(evidence, basis, row)))


def pace_of(evidence: Evidence) -> float | None:
    """The host's time for the same calls, as a multiple of that before; None if it did not change as a whole."""
    return next((_factor(row) for row in evidence.host_times if row.whole), None)


def _candidate(evidence: Evidence, basis: Basis, row: HostTime) -> Candidate | None:
    factor = _factor(row)
    if not evidence.on_device or factor is None or abs(factor - 1) < LEAST_PACE:
        return None
    waits = basis.of_kind(*_WAITING)
    parts = {place: part for place, part in waits.items() if row.whole or part.phase == row.phase}
    time = fsum(part.baseline for part in basis.parts if row.whole or part.phase == row.phase)
    if not time or basis.is_apart(parts.values()):
        return None
    if not LEAST_WAITED <= total(parts.values()) / ((factor - 1) * time) <= MOST_WAITED:
        return None
    cpu = f", as on a {'busier' if factor > 1 else 'less busy'} CPU" if evidence.same_host else ""
    place = "" if row.whole else f" in {short(row.phase)}"
    mean = "; the percentage is a mean over ranks" if basis.is_other_on_path(parts.values()) else ""

    def text(delta: float) -> str:
        return (
            f"The host takes {times(factor)} for the same calls{place}{cpu}:"
            f" the time the device waits for it {moved(delta)} per step{mean}."
        )

    return Candidate("host_pace", whole(parts), text, "operators", row.phase or "")


def _factor(row: HostTime) -> float | None:
    before, after = row.alike_baseline_ns or 0.0, row.alike_new_ns or 0.0
    if not (before >= MOST_COMPARED * row.baseline_ns > 0 and after >= MOST_COMPARED * row.new_ns > 0):
        return None
    alike = row.longer_ns if after > before else row.shorter_ns
    is_of_most = alike >= MOST_ALIKE * before and (row.largest_ns or 0.0) <= OUTLIER * abs(after - before)
    return after / before if is_of_most else None
