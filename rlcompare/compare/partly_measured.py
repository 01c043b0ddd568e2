"""Findings about what only some ranks or runs of a side recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rlcompare.compare import records
from rlcompare.compare.captures import without_times
from rlcompare.compare.findings import finding_of, listed, where
from rlcompare.compare.inputs import SideInput
from rlcompare.model.diff import Finding
from rlcompare.model.words import SIDES, Severity, SideName

CAUTION = Severity.CAUTION

_PARTLY_KNOWN = {
    "kernel_types": "the types of kernels",
    "kernel_shapes": "the inputs of kernels",
    "kernel_cores": "the cores of kernels",
    "kernel_phases": "the phases of kernels",
    "kernel_hosts": "the operators that launch kernels",
    "kernel_elements": "the sizes of kernels' inputs",
    "collective_waits": "the waiting time in collectives",
    "collective_sizes": "the sizes of collectives",
    "collective_exposed": "the exposed time of collectives",
    "collective_tasks": "the tasks of collectives",
    "time_copies": "the time of copies, and so idle time",
    "operator_times": "the device times of operators",
    "module_times": "the device times of modules",
}
"""How a finding names what only some ranks have (``sql/compare/uneven.sql``)."""
_SUMS = "operator_sums"
_OF_SUMS = (
    "the device times of operators are sums by the profiler, which contain collectives and copies; other captures have"
    " those of kernels alone: they are not compared."
)
_TIMES = {
    "compute": "computation",
    "comm": "communication",
    "step": "the step's wall time",
    "preparing": "the time of the step before and after the device's tasks",
}


def of_some_ranks(times: Sequence[records.TimeSample], given: Mapping[SideName, SideInput]) -> Iterator[Finding]:
    """Reports times that some ranks of a run lack; not that before the first task if they lack more than it."""
    missing = {(time.side, time.run, time.metric) for time in times if time.missing}
    for time in times:
        wider = {(time.side, time.run, name) for name in ("compute", "step")}
        if time.missing and time.metric in _TIMES and not (time.metric == "preparing" and missing & wider):
            text = (
                f"{_TIMES[time.metric]} is unknown on {time.missing} of {time.members} ranks; its mean leaves them out."
            )
            yield finding_of("partly_measured", time.side, CAUTION, where(time, given) + text)


def of_some_runs(times: Sequence[records.TimeSample], given: Mapping[SideName, SideInput]) -> Iterator[Finding]:
    """Reports times that some runs of a side lack, beside others of these runs: the means are over different runs."""
    for side in SIDES:
        runs = {time.run for time in times if time.side == side}
        told: set[int] = set()
        for metric, what in _TIMES.items():
            lacking = runs - {time.run for time in times if time.side == side and time.metric == metric}
            if lacking and lacking != runs and not (metric == "preparing" and lacking <= told):
                names = listed([given[side].stores[run].name for run in sorted(lacking)])
                text = f"{what} is unknown in {len(lacking)} of {len(runs)} runs ({names}); its mean leaves them out."
                yield finding_of("partly_measured", side, CAUTION, text)
                told |= lacking


def untimed(groups: Sequence[records.GroupOfCaptures]) -> list[Finding]:
    """Reports captures without times on the device: sums leave them out."""
    found = {side: without_times(groups, side) for side in SIDES}
    text = "the times on the device of {} are unknown, so the times of the step are too short."
    return [
        finding_of("partly_measured", side, CAUTION, text.format(listed(names)))
        for side, names in found.items()
        if names
    ]


def partly_known(rows: Sequence[records.PartlyKnown]) -> list[Finding]:
    """Reports what only some ranks or runs recorded, and where the same column has two meanings."""
    made = []
    for side in SIDES:
        of_side = [row.what for row in rows if row.side == side]
        if _SUMS in of_side:
            made.append(finding_of("partly_measured", side, CAUTION, _OF_SUMS))
        names = [_PARTLY_KNOWN[what] for what in of_side if what != _SUMS]
        if names:
            text = f"only some ranks or runs recorded {listed(names)}: this is not compared."
            made.append(finding_of("partly_measured", side, CAUTION, text))
    return made
