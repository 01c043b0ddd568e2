"""The metrics of the whole step (``Diff.overall``): one value per run, their mean per side, and the difference.

Times are means over ranks of means over steps, per run; what a rank did not measure is skipped. ``@max`` is the slowest
rank, ``@spread`` the slowest less the fastest (summed over the roles of discrete mode). Where captures are of several
roles, a time is the sum over roles of the mean over their own processes, and ``role.<role>.…`` has the parts. Memory
peaks are the highest of all ranks, because the fullest rank runs out first. Several runs of a side are averaged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from rlcompare.compare.comparability import changed_meaning
from rlcompare.compare.inputs import SIDES
from rlcompare.compare.names import LOWER, NEUTRAL, TIMES, TOKEN_RATE, polarity_of, unit_of
from rlcompare.compare.rollups import Rollups
from rlcompare.compare.rows import NS_PER_MS, difference, is_remainder, ratio
from rlcompare.compare.runs import overlap
from rlcompare.compare.training import TOTAL, have_phases, profiled_steps, workload_of
from rlcompare.model.diff import NOT_COMPARED, RUNS_OVERLAP, Delta, Value

Samples = dict[str, dict[int, float | None]]
"""Values by side and run."""

OUTSIDE = "(outside)"
"""The part of a step that lies in no phase."""

_REST = f"phase.{OUTSIDE}.wall"

SPEED = "timing_s/step"
"""The step's wall time as training measured it: the headline where both sides logged it (docs/design.md §4)."""

PROFILED_STEP, OUTSIDE_PROFILE = "time.profiled_step", "time.outside_profile"
"""Training's own time of the steps that ran under the profiler, and what the device's span leaves of it."""

HEADLINES = ("time.step", "time.device_span", "time.comm", "time.phases")
"""What speaks for the step, the first that both sides have; without kernels only communication is known, without any
device data (level_none) the phases on the host."""


_LARGEST = 1e300


class Overall:
    """Collects samples by metric, in order, and makes the deltas."""

    def __init__(self, runs: Mapping[str, int], apart: Mapping[str, str]) -> None:
        """``runs``: the number of runs of each side; ``apart``: why a metric's values are not compared."""
        self._runs = runs
        self._apart = apart
        self._samples: dict[str, Samples] = {}
        self._form: dict[str, tuple[str, str, float]] = {}

    def add(
        self, metric: str, side: str, run: int, value: float | None, unit: str, polarity: str, scale: float = 1
    ) -> None:
        """A value of one run; ``scale``: how many of the value's units make one of ``unit``.

        One that is no number, or so large that sums would be none, counts as unknown.
        """
        self._form.setdefault(metric, (unit, polarity, scale))
        self._samples.setdefault(metric, {side: {} for side in SIDES})[side][run] = (
            value if value is not None and abs(value) <= _LARGEST else None
        )

    def deltas(self) -> tuple[Delta, ...]:
        """All metrics that at least one side has."""
        made = [self._delta(metric) for metric in self._samples]
        walls = {delta.metric: delta.baseline for delta in made if fnmatchcase(delta.metric, "phase.*.wall")}
        little = is_remainder(walls.get(_REST), [wall for wall in walls.values() if wall is not None])
        made = [replace(delta, ratio=None) if little and delta.metric == _REST else delta for delta in made]
        return tuple(delta for delta in made if delta.baseline is not None or delta.new is not None)

    def _delta(self, metric: str) -> Delta:
        unit, polarity, scale = self._form[metric]
        values = {
            side: tuple(self._samples[metric][side].get(run) for run in range(self._runs[side])) for side in SIDES
        }
        baseline, new = (mean(values[side]) for side in SIDES)
        reason = self._apart.get(metric)
        change = difference(baseline, new) if reason is None else None
        return Delta(
            metric=metric,
            unit=unit,
            polarity=polarity,
            baseline=None if baseline is None else baseline / scale,
            new=None if new is None else new / scale,
            delta=None if change is None else change / scale,
            ratio=ratio(baseline, new) if reason is None else None,
            samples={side: tuple(None if value is None else value / scale for value in values[side]) for side in SIDES},
            evidence=_evidence(values) if reason is None else {NOT_COMPARED: reason},
        )


def _evidence(values: Mapping[str, Sequence[float | None]]) -> dict[str, Value]:
    found = overlap(*(values[side] for side in SIDES))
    return {} if found is None else {RUNS_OVERLAP: found}


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of what is known; None if nothing is."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def overall_metrics(rollups: Rollups, runs: Mapping[str, int], times: Sequence[Mapping[str, Any]]) -> tuple[Delta, ...]:
    """All metrics, in the order of the report.

    Args:
        runs: the number of runs of each side.
        times: the rows of ``time_sample``.
    """
    overall = Overall(runs, {row["name"]: changed_meaning(row) for row in rollups.rows("metric_apart")})
    metrics = rollups.rows("metric_sample")
    _add_metrics(overall, [row for row in metrics if row["name"] == SPEED])
    _add_token_rate(overall, metrics)
    _add_times(overall, times)
    for row in rollups.rows("role_sample"):
        name = f"role.{row['role']}.{row['metric']}"
        overall.add(name, row["side"], row["run"], row["ns"], "ms", TIMES[row["metric"]], NS_PER_MS)
    for row in rollups.rows("unprofiled"):
        overall.add("time.unprofiled", row["side"], row["run"], row["mean_ns"], "ms", NEUTRAL, NS_PER_MS)
    for side, run, step_ns, outside_ns in profiled_steps(rollups.rows("profiled_timer"), times):
        overall.add(PROFILED_STEP, side, run, step_ns, "ms", NEUTRAL, NS_PER_MS)
        overall.add(OUTSIDE_PROFILE, side, run, outside_ns, "ms", NEUTRAL, NS_PER_MS)
    phases = rollups.rows("phase_sample")
    if not any(_is_on_both(times, metric.removeprefix("time.")) for metric in HEADLINES):
        _add_sum_of_phases(overall, phases)
    training = rollups.rows("training_phase")
    if have_phases(training):  # timers of steps without a profiler are better than a profile's
        phases = [row for row in phases if row["what"] != "wall"] + [{**row, "what": "wall"} for row in training]
    _add_phases(overall, phases)
    for row in rollups.rows("memory_peak"):
        if row["main"]:
            for what in ("allocated", "reserved"):
                overall.add(f"memory.peak_{what}", row["side"], row["run"], row[f"{what}_bytes"], "bytes", LOWER)
    _add_workload(overall, metrics, rollups.rows("workload_sample"))
    _add_metrics(overall, [row for row in metrics if row["name"] != SPEED and not row["name"].startswith("workload.")])
    return overall.deltas()


def headline_of(deltas: Sequence[Delta]) -> str:
    """The metric that speaks for the step: training's own, else the profile's."""
    return next((delta.metric for delta in deltas if delta.metric == SPEED and delta.delta is not None), None) or (
        profile_headline(deltas)
    )


def profile_headline(deltas: Sequence[Delta]) -> str:
    """The time of the profile that speaks for the step; ``time.device_span`` where no time is known on both sides."""
    known = {delta.metric for delta in deltas if delta.delta is not None}
    return next((metric for metric in HEADLINES if metric in known), "time.device_span")


def _add_times(overall: Overall, times: Sequence[Mapping[str, Any]]) -> None:
    for name, polarity in TIMES.items():
        rows = [row for row in times if row["metric"] == name]
        for suffix, column in (("", "mean_ns"), ("@max", "max_ns"), ("@spread", "spread_ns")):
            if suffix and (name not in ("step", "device_span") or all(row["spread_ns"] is None for row in rows)):
                continue
            for row in rows:
                overall.add(f"time.{name}{suffix}", row["side"], row["run"], row[column], "ms", polarity, NS_PER_MS)


def _is_on_both(times: Sequence[Mapping[str, Any]], name: str) -> bool:
    return {row["side"] for row in times if row["metric"] == name and row["mean_ns"] is not None} == set(SIDES)


def _add_sum_of_phases(overall: Overall, rows: Sequence[Mapping[str, Any]]) -> None:
    """``time.phases``: the wall time of all phases, where nothing else speaks for the step."""
    sums: dict[tuple[str, int], float] = {}
    for row in rows:
        if row["what"] == "wall" and row["phase"] != OUTSIDE:
            sums[row["side"], row["run"]] = sums.get((row["side"], row["run"]), 0.0) + row["ns"]
    for (side, run), ns in sums.items():
        overall.add("time.phases", side, run, ns, "ms", LOWER, NS_PER_MS)


def _add_phases(overall: Overall, rows: Sequence[Mapping[str, Any]]) -> None:
    if any(row["phase"] != OUTSIDE for row in rows):
        for row in rows:
            name = f"phase.{row['phase']}.{row['what']}"
            overall.add(name, row["side"], row["run"], row["ns"], "ms", LOWER, NS_PER_MS)


def _add_token_rate(overall: Overall, metrics: Sequence[Mapping[str, Any]]) -> None:
    if any(row["name"] == TOKEN_RATE for row in metrics):
        return
    asked = workload_of(metrics)
    for row in metrics:
        tokens = asked.get((row["side"], row["run"]), {}).get(TOTAL)
        if row["name"] == SPEED and tokens and row["value"] is not None:
            overall.add(TOKEN_RATE, row["side"], row["run"], row["value"] * 1e3 / tokens, "", LOWER)


def _add_workload(overall: Overall, metrics: Sequence[Mapping[str, Any]], counted: Sequence[Mapping[str, Any]]) -> None:
    for (side, run), values in workload_of(metrics).items():
        for name, value in sorted(values.items()):
            overall.add(name, side, run, value, unit_of(name), NEUTRAL)
    given = {row["name"] for row in metrics}
    for row in counted:
        if row["metric"] in given:  # what training says it was asked for counts
            continue
        overall.add(row["metric"], row["side"], row["run"], row["value"], unit_of(row["metric"]), NEUTRAL)


def _add_metrics(overall: Overall, rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        name = row["name"]
        overall.add(name, row["side"], row["run"], row["value"], unit_of(name), polarity_of(name))
