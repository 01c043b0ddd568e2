"""What a training log shows of its timers: those inside a phase, how far a mean may be off, and what drives a timer.

Times follow the amount of work only as far as the steps of a log show it: within each side, a timer is regressed on the
lengths or tokens of the same step. A fixed cost stays fixed. Where the steps differ too little to tell, the driver of a
timer is known, and its slope is not.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, sqrt
from statistics import correlation
from typing import NamedTuple

from rlcompare.compare.long_steps import LongSteps, long_steps
from rlcompare.compare.records import (
    LongStep,
    MetricSample,
    RunSeries,
    StepTimer,
    TimerDriver,
    TimerNoise,
    TimerPart,
    TrainingPhase,
)
from rlcompare.compare.rows import NS_PER_MS
from rlcompare.metrics import entry
from rlcompare.model.diff import RunEvent
from rlcompare.model.words import SIDES, EventKind, SideName

TELLING = 3.0
"""A change counts if it is this many times its standard error; a slope, if proportional growth would be."""

TELLING_NAMES = ("timing_s/", "prometheus/", "workload.", "fully_async/")
"""How metrics begin that may tell why a time changed, beside those of the catalogue (``may_tell`` in SQL)."""

LEAST_OF_LINE = 24
"""Steps from which the line through them is no luck (``sql/compare/timer_noise.sql``)."""

LEAST_STEPS = 8
"""Steps over both sides below which a regression tells nothing."""

MS_PER_S = 1e3

_OTHER: Mapping[SideName, SideName] = {"baseline": "new", "new": "baseline"}

OUT_OF_GENERATION = "wake-up, weight loading and sleep"
"""What is left of a rollout beside its generation (docs/design.md §5)."""

OUT_OF_WORKERS = "the rest of generation: the slowest worker, wake-up, weight loading, sleep"
"""The same where generation is only known as a mean over workers."""

OF_WORKERS = "timing_s/generate_sequences"
"""The mean over workers of their generation."""

OF_ALL_WORKERS = "generation, up to the slowest worker"

OUT_OF_SAMPLE = "outside of the slowest sample (wake-up, weight loading, sleep)"
"""What is left of a rollout beside the sample that takes longest."""

OUT_OF_UNSCORED = "outside of the slowest sample (rewards, wake-up, weight loading, sleep)"
"""The same where the log does not time the rewards of samples."""


class InnerTimer(NamedTuple):
    """A timer inside a phase.

    Attributes:
        name: its key in the log.
        part: what it measures, in words.
        baseline, new: ms per step.
    """

    name: str
    part: str
    baseline: float
    new: float


class Change(NamedTuple):
    """How a metric changed between the sides, and the standard error of the change; None: unknown."""

    baseline: float
    new: float
    error: float | None

    @property
    def delta(self) -> float:
        return self.new - self.baseline

    @property
    def relative(self) -> float:
        """The change as a part of the larger value."""
        largest = max(abs(self.baseline), abs(self.new))
        return self.delta / largest if largest else 0.0

    @property
    def is_telling(self) -> bool:
        """Whether it is more than luck; True if the error is unknown."""
        return self.error is None or abs(self.delta) > TELLING * self.error


class Driver(NamedTuple):
    """What a timer follows.

    Attributes:
        metric: a metric of the work.
        slope: ms of the timer per unit of the metric, as the steps show it; None if they do not tell.
        error: the standard error of the slope.
    """

    metric: str
    slope: float | None
    error: float = 0.0


@dataclass(frozen=True)
class TrainingLog:
    """The log of both sides, as far as causes use it.

    Attributes:
        inner: the timers inside each phase that both sides divide in the same way.
        changes: every metric that both sides have and that may tell about a time.
        drivers: the metrics that each timer follows.
        residual: the part of a timer's spread over steps that the metrics leave that it is shown to follow.
        timers: the key of the timer of each phase.
        lone: the side of each of these that only one side has.
        long: the few steps in which a timer takes longer, where they make its mean differ.
        of_step: the timers that are part of the step, with their side.
    """

    inner: Mapping[str, Sequence[InnerTimer]] = field(default_factory=dict)
    changes: Mapping[str, Change] = field(default_factory=dict)
    drivers: Mapping[str, Sequence[Driver]] = field(default_factory=dict)
    residual: Mapping[str, float] = field(default_factory=dict)
    timers: Mapping[str, str] = field(default_factory=dict)
    lone: Mapping[str, SideName] = field(default_factory=dict)
    long: Mapping[str, LongSteps] = field(default_factory=dict)
    of_step: frozenset[tuple[SideName, str]] = frozenset()

    def change(self, *metrics: str) -> tuple[str, Change] | None:
        """The first of these metrics that both sides have."""
        return next(((metric, self.changes[metric]) for metric in metrics if metric in self.changes), None)

    def error_ms(self, timer: str) -> float:
        """The standard error of the change of a timer beside what its drivers explain, in ms; 0 if unknown."""
        found = self.changes.get(timer)
        return (found.error or 0.0) * MS_PER_S * self.residual.get(timer, 1.0) if found else 0.0


def rest_of(inner: Sequence[InnerTimer]) -> str:
    """What the timers inside a phase leave of it, in words."""
    names = {timer.name.removeprefix("timing_s/") for timer in inner}
    if "agent_loop/slowest/compute_score" in names:
        return OUT_OF_SAMPLE
    if "agent_loop/slowest/generate_sequences" in names:
        return OUT_OF_UNSCORED
    return OUT_OF_WORKERS if "generate_sequences" in names else OUT_OF_GENERATION


def netted(inner: Sequence[InnerTimer]) -> list[InnerTimer]:
    """The timers inside a phase without the changes that make up for each other; they sum to the same change.

    Another sample may be the slowest one: then its tools take longer, and its generation less long.
    """
    total = fsum(timer.new - timer.baseline for timer in inner)
    along = fsum(change for timer in inner if (change := timer.new - timer.baseline) * total > 0)
    kept = total / along if along else 0.0
    made = []
    for timer in inner:
        change = timer.new - timer.baseline
        made.append(timer._replace(new=timer.baseline + (change * kept if change * total > 0 else 0.0)))
    return made


def training_log(
    phases: Sequence[TrainingPhase],
    parts: Sequence[TimerPart],
    noise: Sequence[TimerNoise],
    driven: Sequence[TimerDriver],
    metrics: Sequence[MetricSample],
    apart: Iterable[str],
    events: Iterable[RunEvent],
    series: Iterable[RunSeries],
    long: Sequence[LongStep],
    of_step: Iterable[StepTimer],
) -> TrainingLog:
    """Gathers what the log tells.

    Args:
        apart: the metrics that mean something else on each side.
        events: what happens within the runs. That a level begins at some step is no luck.
        series: the metrics of each run step by step.
        long: steps in which a timer takes longer than in the others.
        of_step: the timers that are part of the step, by side.
    """
    left = _left_by_levels(events, series)
    errors: dict[SideName, dict[str, list[float]]] = {side: {row.name: [] for row in noise} for side in SIDES}
    for row in noise:
        errors[row.side][row.name].append(row.error * left.get((row.side, row.run, row.name), 1.0))
    values: dict[str, dict[SideName, list[float]]] = {}
    for sample in metrics:
        if sample.value is not None and _may_tell(sample.name):
            values.setdefault(sample.name, {side: [] for side in SIDES})[sample.side].append(sample.value)
    left_out = set(apart)
    changes = {
        name: Change(_mean(found["baseline"]), _mean(found["new"]), _error(errors, name))
        for name, found in values.items()
        if found["baseline"] and found["new"] and name not in left_out
    }
    timers = {phase.phase: phase.timer for phase in phases if phase.timer is not None}
    drivers, residual = _drivers(driven)
    lone = {name: side for name, found in values.items() for side in SIDES if not found[_OTHER[side]]}
    runs = {(phase.side, phase.run) for phase in phases}
    return TrainingLog(
        _inner(parts, runs), changes, drivers, residual, timers, lone, long_steps(long), frozenset(of_step)
    )


def _may_tell(metric: str) -> bool:
    """Whether a metric may tell why a time changed: not those of the user's own, of which there may be very many."""
    return metric.startswith(TELLING_NAMES) or entry(metric) is not None


def _left_by_levels(events: Iterable[RunEvent], series: Iterable[RunSeries]) -> dict[tuple[SideName, int, str], float]:
    """For each metric of a run whose level changes, the part of its spread over steps that its levels leave."""
    starts: dict[tuple[SideName, int, str], list[int]] = {}
    for event in events:
        if event.what == EventKind.ONSET:
            ends = [] if event.last is None else [event.last + 1]
            starts.setdefault((event.side, event.run, event.metric), []).extend([event.step, *ends])
    found = {}
    for one in series:
        bounds = sorted(starts.get((one.side, one.run, one.name), ()))
        if not bounds:
            continue
        levels: dict[int, list[float]] = {}
        for step, value in list(zip(one.steps, one.amounts, strict=True))[1:]:  # the first is warm-up
            levels.setdefault(bisect_right(bounds, step), []).append(value)
        spread = _squares(one.amounts[1:])
        if spread and len(one.amounts) > LEAST_OF_LINE and len(set(one.steps[1:])) > 1:
            spread *= max(1 - correlation(one.steps[1:], one.amounts[1:]) ** 2, 0.0)  # rounding may exceed 1
        found[one.side, one.run, one.name] = sqrt(fsum(map(_squares, levels.values())) / spread) if spread else 1.0
    return found


def _squares(values: Sequence[float]) -> float:
    """The sum of squares around the mean."""
    centre = _mean(values)
    return fsum((value - centre) ** 2 for value in values)


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def _error(errors: Mapping[SideName, Mapping[str, Sequence[float]]], name: str) -> float | None:
    """The standard error of the difference of two means over runs."""
    squares = []
    for side in SIDES:
        found = errors[side].get(name)
        if not found:
            return None
        squares.append(fsum(error**2 for error in found) / len(found) ** 2)
    return sqrt(fsum(squares))


def _inner(parts: Sequence[TimerPart], runs: Collection[tuple[SideName, int]]) -> dict[str, Sequence[InnerTimer]]:
    """For each phase, the first way to divide it that all runs with phases have."""
    found: dict[str, Sequence[InnerTimer]] = {}
    for phase, way in sorted({(part.phase, part.way) for part in parts}):
        rows = [part for part in parts if part.phase == phase and part.way == way]
        if phase in found or {(row.side, row.run) for row in rows} != runs or {row.side for row in rows} != set(SIDES):
            continue
        timers = []
        for name, part in dict.fromkeys((row.name, row.part) for row in rows):
            sides = [
                fsum(row.ns for row in rows if row.side == side and row.name == name)
                / len({row.run for row in rows if row.side == side})
                / NS_PER_MS
                for side in SIDES
            ]
            timers.append(InnerTimer(name, part, *sides))
        found[phase] = timers
    return found


def _drivers(rows: Sequence[TimerDriver]) -> tuple[dict[str, Sequence[Driver]], dict[str, float]]:
    """For each timer, the first metrics that it is shown to follow, else all that it may; and what they leave."""
    found: dict[str, Sequence[Driver]] = {}
    residual: dict[str, float] = {}
    for timer, place in sorted({(row.timer, row.place) for row in rows}):
        group = [row for row in rows if row.timer == timer and row.place == place]
        if timer in residual or {row.side for row in group} != set(SIDES):
            continue
        drivers, left = _regressed(group)
        if any(driver.slope is not None for driver in drivers):
            found[timer], residual[timer] = drivers, left
        else:
            known = {driver.metric for driver in found.get(timer, ())}
            found[timer] = [*found.get(timer, ()), *(driver for driver in drivers if driver.metric not in known)]
    return found, residual


def _regressed(rows: Sequence[TimerDriver]) -> tuple[Sequence[Driver], float]:
    """The slopes of a timer over one or two metrics, and the part of its spread that they leave.

    Over one metric alone, if both together do not tell.
    """
    both = rows[0].second is not None and all(row.second_mean is not None and row.of_both is not None for row in rows)
    timer = _Timer(
        _mean_over_steps(rows, "timer_mean"), _pooled(rows, "timer_variance"), sum(row.steps - 1 for row in rows)
    )
    first, with_first = (rows[0].first, _mean_over_steps(rows, "first_mean")), _pooled(rows, "with_first")
    variance = _pooled(rows, "first_variance")
    tried = [timer.follow([first], [[variance]], [with_first])]
    if both:
        second, with_second = (str(rows[0].second), _mean_over_steps(rows, "second_mean")), _pooled(rows, "with_second")
        other, shared = _pooled(rows, "second_variance"), _pooled(rows, "of_both")
        moments = [[variance, shared], [shared, other]]
        tried = [timer.follow([first, second], moments, [with_first, with_second]), *tried]
        tried.append(timer.follow([second], [[other]], [with_second]))
    told = next((found for found in tried if any(driver.slope is not None for driver in found[0])), None)
    return told or tried[0]


class _Timer(NamedTuple):
    """A timer over the steps of all runs.

    Attributes:
        mean: in s.
        squares: the sum of squares around the means of each run.
        freedom: the number of steps without that of the runs.
    """

    mean: float
    squares: float
    freedom: int

    def follow(
        self, metrics: Sequence[tuple[str, float]], moments: Sequence[Sequence[float]], along: Sequence[float]
    ) -> tuple[Sequence[Driver], float]:
        """The drivers, and the part of the timer's spread that they leave.

        Args:
            metrics: names and means.
            moments, along: sums of squares and products of the metrics, and of each with the timer.
        """
        made, explained = [], 0.0
        slopes = _least_squares(moments, along, self.squares, self.freedom)
        for (name, mean), (slope, error), product in zip(metrics, slopes, along, strict=True):
            proportional = self.mean / mean if mean > 0 else 0.0
            tells = self.freedom >= LEAST_STEPS and error is not None and TELLING * error < proportional
            kept = min(max(slope, 0.0), proportional) * MS_PER_S if tells else None
            made.append(Driver(name, kept, (error or 0.0) * MS_PER_S))
            explained += slope * product if tells else 0.0
        drivers = self._no_more_than_all(made, [mean for _, mean in metrics])
        return drivers, sqrt(max(1 - explained / self.squares, 0.0)) if self.squares > 0 else 1.0

    def _no_more_than_all(self, drivers: Sequence[Driver], means: Sequence[float]) -> Sequence[Driver]:
        """Lessens slopes by which more than all of the timer would follow its metrics: the less certain one gives way.

        Args:
            means: those of the metrics.
        """
        slopes = [(driver, driver.slope or 0.0, mean) for driver, mean in zip(drivers, means, strict=True)]
        excess = fsum(slope * mean for _, slope, mean in slopes) - self.mean * MS_PER_S
        doubt = fsum((driver.error * mean) ** 2 for driver, _, mean in slopes)
        if excess <= 0 or not doubt or any(driver.slope is None for driver in drivers):
            return drivers
        return [
            driver._replace(slope=max(slope - excess * mean * driver.error**2 / doubt, 0.0))
            for driver, slope, mean in slopes
        ]


def _pooled(rows: Sequence[TimerDriver], name: str) -> float:
    """A sum of squares or products around the means of each run."""
    return fsum((getattr(row, name) or 0.0) * (row.steps - 1) for row in rows)


def _mean_over_steps(rows: Sequence[TimerDriver], name: str) -> float:
    return fsum((getattr(row, name) or 0.0) * row.steps for row in rows) / sum(row.steps for row in rows)


def _least_squares(
    moments: Sequence[Sequence[float]], along: Sequence[float], of_timer: float, freedom: int
) -> list[tuple[float, float | None]]:
    """Slopes and their standard errors of a regression on one or two variables; an error of None: undetermined."""
    if len(along) == 2:
        (a, b), (_, c) = moments
        determinant = a * c - b * b
        if determinant > 1e-6 * a * c:
            first, second = (c * along[0] - b * along[1]) / determinant, (a * along[1] - b * along[0]) / determinant
            rest = max(of_timer - first * along[0] - second * along[1], 0.0) / max(freedom - 2, 1)
            return [(first, sqrt(rest * c / determinant)), (second, sqrt(rest * a / determinant))]
        return [_least_squares([[a]], along[:1], of_timer, freedom)[0], (0.0, None)]
    variance = moments[0][0]
    if variance <= 0:
        return [(0.0, None)]
    slope = along[0] / variance
    rest = max(of_timer - slope * along[0], 0.0) / max(freedom - 1, 1)
    return [(slope, sqrt(rest / variance))]
