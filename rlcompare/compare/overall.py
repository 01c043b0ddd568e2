"""The metrics of the whole step (``Diff.overall``): one value per run, their mean per side, and the difference.

Times are means over ranks of means over steps, per run. Ranks without a measurement are skipped. ``@max`` is the
slowest rank, ``@spread`` the slowest minus the fastest (summed over the roles of discrete mode). If captures are of
several roles, a time is the sum over roles of each role's mean over its processes, and ``role.<role>.…`` has the parts.
Memory peaks are the maximum over ranks, because the fullest rank runs out of memory first. Several runs of a side are
averaged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import zip_longest
from math import fsum

from rlcompare.compare.comparability import changed_meaning
from rlcompare.compare.names import TIMES, TOKEN_RATE, polarity_of, unit_of
from rlcompare.compare.records import (
    MemoryPeak,
    MetricApart,
    MetricSample,
    PathSample,
    PhaseSample,
    ProfiledTimer,
    RoleSample,
    TimeSample,
    TrainingPhase,
    Unprofiled,
    WorkloadSample,
)
from rlcompare.compare.rollups import Rollups
from rlcompare.compare.rows import NS_PER_MS, difference, is_remainder, ratio
from rlcompare.compare.runs import overlap
from rlcompare.compare.training import TOTAL, have_phases, profiled_steps, workload_of
from rlcompare.model.diff import NOT_COMPARED, RUNS_OVERLAP, Delta, Value
from rlcompare.model.words import SIDES, SideName

OUTSIDE = "(outside)"
"""The part of a step outside all phases."""

_REST = f"phase.{OUTSIDE}.wall"

SPEED = "timing_s/step"
"""The step's wall time as training measured it: the headline if both sides logged it (docs/design.md §4)."""

PROFILED_STEP, OUTSIDE_PROFILE = "time.profiled_step", "time.outside_profile"
"""Training's own time of the profiled steps, and the part of it that the device's span does not cover."""

PATH = "time.path"
"""The critical path over the ranks: the step of the whole job."""

PERIOD = "time.period"
"""The longer of the host's step and the device's span, where the device outlasts the host's steps on one side only."""

HEADLINES = (PATH, "time.step", PERIOD, "time.device_span", "time.comm", "time.phases")
"""The headline metric is the first that both sides have. A single rank has no path. Without kernels only communication
is known; without any device data (level_none) only the phases on the host."""

_OF_HOST = (PATH, "time.step")
"""The headline metrics that follow the host's steps."""

OUTLASTS = 1.1
"""How many times the host's step the device must work for it for the step's time to be another."""

_LARGEST = 1e300


class Overall:
    """Collects samples by metric, in order, and computes the deltas."""

    def __init__(self, runs: Mapping[SideName, int], apart: Mapping[str, str]) -> None:
        """``runs``: the number of runs of each side; ``apart``: why a metric's values are not compared."""
        self._runs = runs
        self._apart = apart
        self._first: dict[SideName, int] = {"baseline": 0, "new": runs["baseline"]}
        self._samples: dict[str, list[float | None]] = {}
        """By metric, the values of all runs of the baseline, and then those of the new side."""
        self._scale: dict[str, float] = {}

    def add(self, metric: str, side: SideName, run: int, value: float | None, scale: float = 1) -> None:
        """Adds a value of one run. ``scale``: the number of the value's units in one unit of the metric (``unit_of``).

        NaN, infinity, and values so large that their sum would overflow count as unknown.
        """
        self._scale.setdefault(metric, scale)
        if metric not in self._samples:
            self._samples[metric] = [None] * sum(self._runs.values())
        known = value is not None and abs(value) <= _LARGEST
        self._samples[metric][self._first[side] + run] = value if known else None

    def values(self, metric: str, side: SideName) -> Sequence[float | None]:
        """The values of the runs of a side, in the unit in which they were added; none if there is no such metric."""
        return self._samples.get(metric, [])[self._first[side] :][: self._runs[side]]

    def deltas(self) -> tuple[Delta, ...]:
        """All metrics that at least one side has."""
        made = [self._delta(metric) for metric in self._samples]
        walls = {delta.metric: delta.baseline for delta in made if fnmatchcase(delta.metric, "phase.*.wall")}
        little = is_remainder(walls.get(_REST), [wall for wall in walls.values() if wall is not None])
        made = [replace(delta, ratio=None) if little and delta.metric == _REST else delta for delta in made]
        return tuple(delta for delta in made if delta.baseline is not None or delta.new is not None)

    def _delta(self, metric: str) -> Delta:
        scale = self._scale[metric]
        values = {side: tuple(self.values(metric, side)) for side in SIDES}
        baseline, new = (mean(values[side]) for side in SIDES)
        reason = self._apart.get(metric)
        change = difference(baseline, new) if reason is None else None
        return Delta(
            metric=metric,
            unit=unit_of(metric),
            polarity=polarity_of(metric),
            baseline=_scaled(baseline, scale),
            new=_scaled(new, scale),
            delta=_scaled(change, scale),
            ratio=ratio(baseline, new) if reason is None else None,
            samples={side: tuple(_scaled(value, scale) for value in values[side]) for side in SIDES},
            evidence=_evidence(values) if reason is None else {NOT_COMPARED: reason},
        )


def _scaled(value: float | None, scale: float) -> float | None:
    """A value in the unit of its metric: the same object if that is its own unit, since there may be very many."""
    if value is None:
        return None
    return float(value) if scale == 1 else value / scale


def _evidence(values: Mapping[SideName, Sequence[float | None]]) -> dict[str, Value]:
    found = overlap(*(values[side] for side in SIDES))
    return {} if found is None else {RUNS_OVERLAP: found}


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of all known values; None if there are none."""
    known = [value for value in values if value is not None]
    if len(known) == 1:
        return float(known[0])
    return math.fsum(known) / len(known) if known else None


def overall_metrics(rollups: Rollups, runs: Mapping[SideName, int]) -> tuple[Delta, ...]:
    """All metrics, in the order of the report.

    Args:
        runs: the number of runs of each side.
    """
    overall = Overall(runs, {row.name: changed_meaning(row) for row in rollups.rows(MetricApart)})
    times, metrics = rollups.rows(TimeSample), rollups.rows(MetricSample)
    _add_metrics(overall, [sample for sample in metrics if sample.name == SPEED])
    _add_token_rate(overall, metrics)
    for path in rollups.rows(PathSample):
        overall.add(PATH, path.side, path.run, path.ns, NS_PER_MS)
    _add_times(overall, times)
    _add_period(overall)
    for role in rollups.rows(RoleSample):
        name = f"role.{role.role}.{role.metric}"
        overall.add(name, role.side, role.run, role.ns, NS_PER_MS)
    for gap in rollups.rows(Unprofiled):
        overall.add("time.unprofiled", gap.side, gap.run, gap.mean_ns, NS_PER_MS)
    for step in profiled_steps(rollups.rows(ProfiledTimer), times):
        overall.add(PROFILED_STEP, step.side, step.run, step.step_ns, NS_PER_MS)
        overall.add(OUTSIDE_PROFILE, step.side, step.run, step.outside_ns, NS_PER_MS)
    phases = rollups.rows(PhaseSample)
    if not any(_is_on_both(times, metric.removeprefix("time.")) for metric in HEADLINES):
        _add_sum_of_phases(overall, phases)
    _add_phases(overall, phases, rollups.rows(TrainingPhase))
    for peak in rollups.rows(MemoryPeak):
        if peak.main:
            overall.add("memory.peak_allocated", peak.side, peak.run, peak.allocated_bytes)
            overall.add("memory.peak_reserved", peak.side, peak.run, peak.reserved_bytes)
    _add_workload(overall, metrics, rollups.rows(WorkloadSample))
    others = (sample for sample in metrics if sample.name != SPEED and not sample.name.startswith("workload."))
    _add_metrics(overall, others)
    return overall.deltas()


def headline_of(deltas: Sequence[Delta]) -> str:
    """The headline metric: training's own, else the profile's."""
    return next((delta.metric for delta in deltas if delta.metric == SPEED and delta.delta is not None), None) or (
        profile_headline(deltas)
    )


def profile_headline(deltas: Sequence[Delta]) -> str:
    """The headline time of the profile; ``time.device_span`` if no time is known on both sides."""
    return _first_known(deltas, HEADLINES)


def rank_headline(deltas: Sequence[Delta]) -> str:
    """The headline time of each rank and step; ``time.device_span`` if no time is known on both sides."""
    return _first_known(deltas, HEADLINES[1:])


def _first_known(deltas: Sequence[Delta], metrics: Sequence[str]) -> str:
    known = {delta.metric for delta in deltas if delta.delta is not None}
    able = headlines({delta.metric: delta for delta in deltas})
    return next((metric for metric in able if metric in metrics and metric in known), "time.device_span")


def headlines(deltas: Mapping[str, Delta]) -> Sequence[str]:
    """``HEADLINES``, without those that follow the host's steps if the device works longer than these last.

    If it does so on one side only, neither the steps nor the device's spans of the sides are the same thing.

    Args:
        deltas: the overall metrics, by id.
    """
    if any(outlasts(deltas, side) for side in SIDES):
        return [metric for metric in HEADLINES if metric not in _OF_HOST]
    return HEADLINES


def outlasts(deltas: Mapping[str, Delta], side: SideName) -> bool:
    """Whether the device works longer for a step than the step lasts on the host: then that is not the step's time.

    So it is in a profile of few steps at whose end nothing waits for the device. Runs count that know all of the times.
    """
    times = (deltas.get(metric) for metric in ("time.step", "time.compute", "time.exposed_comm"))
    step, compute, comm = (delta.samples.get(side, ()) if delta else () for delta in times)
    return _outlasts(zip_longest(step, compute, comm))


def _outlasts(runs: Iterable[tuple[float | None, float | None, float | None]]) -> bool:
    """The same, of runs' times of the step, of computation and of exposed communication."""
    known = [
        (step, compute + (comm or 0.0)) for step, compute, comm in runs if step is not None and compute is not None
    ]
    return fsum(busy for _, busy in known) > OUTLASTS * fsum(step for step, _ in known) > 0


def _add_times(overall: Overall, times: Sequence[TimeSample]) -> None:
    for name in TIMES:
        found = [time for time in times if time.metric == name]
        for time in found:
            overall.add(f"time.{name}", time.side, time.run, time.mean_ns, NS_PER_MS)
        if name not in ("step", "device_span") or all(time.spread_ns is None for time in found):
            continue
        for time in found:
            overall.add(f"time.{name}@max", time.side, time.run, time.max_ns, NS_PER_MS)
        for time in found:
            overall.add(f"time.{name}@spread", time.side, time.run, time.spread_ns, NS_PER_MS)


def _add_period(overall: Overall) -> None:
    """``time.period``, if the device outlasts the host's steps on one side only."""
    names = ("time.step", "time.compute", "time.exposed_comm", "time.device_span")
    runs = {side: list(zip_longest(*(overall.values(name, side) for name in names))) for side in SIDES}
    baseline, new = (_outlasts((step, compute, comm) for step, compute, comm, _ in runs[side]) for side in SIDES)
    if baseline == new:
        return
    known = {
        (side, run): max(step, span)
        for side in SIDES
        for run, (step, _, _, span) in enumerate(runs[side])
        if step is not None and span is not None
    }
    if {side for side, _ in known} == set(SIDES):
        for (side, run), ns in known.items():
            overall.add(PERIOD, side, run, ns, NS_PER_MS)


def _is_on_both(times: Sequence[TimeSample], name: str) -> bool:
    return {time.side for time in times if time.metric == name} == set(SIDES)


def _add_sum_of_phases(overall: Overall, phases: Sequence[PhaseSample]) -> None:
    """``time.phases``: the wall time of all phases, if there is no other headline metric."""
    sums: dict[tuple[SideName, int], float] = {}
    for phase in phases:
        if phase.what == "wall" and phase.phase != OUTSIDE:
            sums[phase.side, phase.run] = sums.get((phase.side, phase.run), 0.0) + phase.ns
    for (side, run), ns in sums.items():
        overall.add("time.phases", side, run, ns, NS_PER_MS)


def _add_phases(overall: Overall, phases: Sequence[PhaseSample], timers: Sequence[TrainingPhase]) -> None:
    """The parts of the phases, and their wall times. Training's timers take precedence over a profile's marks.

    A run that training timed without such a phase counts 0.
    """
    if have_phases(timers):
        found = {(timer.side, timer.run, timer.phase): timer.ns for timer in timers}
        named = dict.fromkeys((timer.side, timer.phase) for timer in timers)
        timed = dict.fromkeys((timer.side, timer.run) for timer in timers)
        walls = [
            PhaseSample(side, run, phase, "wall", found.get((side, run, phase), 0.0))
            for side, phase in named
            for other, run in timed
            if other == side
        ]
        phases = [*(phase for phase in phases if phase.what != "wall"), *walls]
    if any(phase.phase != OUTSIDE for phase in phases):
        for phase in phases:
            name = f"phase.{phase.phase}.{phase.what}"
            overall.add(name, phase.side, phase.run, phase.ns, NS_PER_MS)


def _add_token_rate(overall: Overall, metrics: Sequence[MetricSample]) -> None:
    if any(sample.name == TOKEN_RATE for sample in metrics):
        return
    asked = workload_of(metrics)
    for sample in metrics:
        tokens = asked.get((sample.side, sample.run), {}).get(TOTAL)
        if sample.name == SPEED and tokens and sample.value is not None:
            overall.add(TOKEN_RATE, sample.side, sample.run, sample.value * 1e3 / tokens)


def _add_workload(overall: Overall, metrics: Sequence[MetricSample], counted: Sequence[WorkloadSample]) -> None:
    for (side, run), values in workload_of(metrics).items():
        for name, value in sorted(values.items()):
            overall.add(name, side, run, value)
    given = {sample.name for sample in metrics}
    for count in counted:
        if count.metric not in given:  # else training's own workload metric counts
            overall.add(count.metric, count.side, count.run, count.value)


def _add_metrics(overall: Overall, samples: Iterable[MetricSample]) -> None:
    for sample in samples:
        overall.add(sample.name, sample.side, sample.run, sample.value)
