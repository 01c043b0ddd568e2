"""Whether the two sides may be compared, in one sentence that a report shows with its numbers."""

from __future__ import annotations

from rlcompare.compare.comparability import KERNELS_UNLIKE
from rlcompare.language import listed, tr
from rlcompare.model.diff import Diff
from rlcompare.model.words import Comparable, Severity
from rlcompare.report.workload import large_differences

_SHOWN = 3
"""Measures of the workload that the sentence names; the section ``workload`` has all."""


def status_of(diff: Diff, status: Comparable) -> tuple[Comparable, str]:
    """The status and its sentence, which also takes differences of the workload into account."""
    if status == Comparable.NOT_COMPARABLE:
        return status, tr("The two sides must not be compared: do not trust the numbers below.")
    found = large_differences(diff)
    more = tr(", +{number} more", number=len(found) - _SHOWN) if len(found) > _SHOWN else ""
    workload = listed(found[:_SHOWN]) + more
    if status == Comparable.COMPARABLE:
        if not workload:
            return status, tr("The two sides are comparable.")
        return Comparable.CAUTION, tr("Comparable settings, but the workload differs: {workload}.", workload=workload)
    text = (
        tr("The two sides may be compared with caution: much of the kernels' time has no match on the other side.")
        if {found.key for found in diff.comparability.findings if found.severity == Severity.CAUTION}
        == {KERNELS_UNLIKE}
        else tr("The two sides may be compared with caution: something besides the change under test differs.")
    )
    also = tr(" The workload differs too: {workload}.", workload=workload) if workload else ""
    return status, f"{text}{also}"
