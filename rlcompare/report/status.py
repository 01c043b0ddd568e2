"""Whether the two sides may be compared, in one sentence that a report shows before its numbers."""

from __future__ import annotations

from rlcompare.model.diff import Diff
from rlcompare.model.words import Comparable
from rlcompare.report.workload import large_differences

_STATUS_TEXT = {
    Comparable.COMPARABLE: "The two sides are comparable.",
    Comparable.CAUTION: "The two sides may be compared with caution: something besides the change under test differs.",
    Comparable.NOT_COMPARABLE: "The two sides must not be compared: do not trust the numbers below.",
}


def status_of(diff: Diff, status: Comparable) -> tuple[Comparable, str]:
    """The status and its sentence, which also takes differences of the workload into account."""
    workload = ", ".join(large_differences(diff))
    if not workload or status == Comparable.NOT_COMPARABLE:
        return status, _STATUS_TEXT[status]
    if status == Comparable.COMPARABLE:
        return Comparable.CAUTION, f"Comparable settings, but the workload differs: {workload}."
    return status, f"{_STATUS_TEXT[status]} The workload differs too: {workload}."
