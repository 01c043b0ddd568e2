"""What a training log tells of its timers: those inside a phase, how far a mean may be off, and what drives a timer.

Times follow the amount of work only as far as the steps of a log show it: within each side, a timer is regressed on the
lengths or tokens of the same step. A fixed cost stays fixed. Where the steps differ too little to tell, the driver of a
timer is known, and its slope is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum, sqrt

from rlcompare.compare.records import MetricSample, TimerDriver, TimerNoise, TimerPart, TrainingPhase
from rlcompare.compare.rows import NS_PER_MS
from rlcompare.model.words import SIDES, SideName

TELLING = 3.0
"""A change counts if it is this many times its standard error; a slope, if proportional growth would be."""

LEAST_STEPS = 8
"""Steps over both sides below which a regression tells nothing."""

MS_PER_S = 1e3

OUT_OF_GENERATION = "wake-up, loading of weights and sleep"
"""What is left of a rollout beside its generation (docs/design.md §5)."""

OUT_OF_SAMPLE = "before and after the slowest sample"
"""What is left of a rollout beside the sample that takes longest."""


@dataclass(frozen=True)
class InnerTimer:
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


@dataclass(frozen=True)
class Change:
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


@dataclass(frozen=True)
class Driver:
    """What a timer follows.

    Attributes:
        metric: a metric of the work.
        slope: ms of the timer per unit of the metric, as the steps show it; None if they do not tell.
        proportional: ms per unit if all of the timer were for it.
    """

    metric: str
    slope: float | None
    proportional: float


@dataclass(frozen=True)
class TrainingLog:
    """The log of both sides, as far as causes use it.

    Attributes:
        inner: the timers inside each phase that both sides divide in the same way.
        changes: every metric that both sides have.
        drivers: the metrics that each timer follows.
        timers: the key of the timer of each phase.
        runs: the number of runs of each side that timed the step.
    """

    inner: Mapping[str, Sequence[InnerTimer]] = field(default_factory=dict)
    changes: Mapping[str, Change] = field(default_factory=dict)
    drivers: Mapping[str, Sequence[Driver]] = field(default_factory=dict)
    timers: Mapping[str, str] = field(default_factory=dict)
    runs: Mapping[SideName, int] = field(default_factory=dict)

    def change(self, *metrics: str) -> tuple[str, Change] | None:
        """The first of these metrics that both sides have."""
        return next(((metric, self.changes[metric]) for metric in metrics if metric in self.changes), None)

    def error_ms(self, timer: str) -> float:
        """The standard error of the change of a timer, in ms; 0 if unknown."""
        found = self.changes.get(timer)
        return (found.error or 0.0) * MS_PER_S if found else 0.0


def rest_of(inner: Sequence[InnerTimer]) -> str:
    """What the timers inside a phase leave of it, in words."""
    return OUT_OF_SAMPLE if any("slowest" in timer.name for timer in inner) else OUT_OF_GENERATION


def training_log(
    phases: Sequence[TrainingPhase],
    parts: Sequence[TimerPart],
    noise: Sequence[TimerNoise],
    driven: Sequence[TimerDriver],
    metrics: Sequence[MetricSample],
    apart: Iterable[str],
) -> TrainingLog:
    """Gathers what the log tells.

    Args:
        apart: the metrics that mean something else on each side.
    """
    errors: dict[SideName, dict[str, list[float]]] = {side: {row.name: [] for row in noise} for side in SIDES}
    for row in noise:
        errors[row.side][row.name].append(row.error)
    values: dict[str, dict[SideName, list[float]]] = {}
    for sample in metrics:
        if sample.value is not None and not sample.invalid:
            values.setdefault(sample.name, {side: [] for side in SIDES})[sample.side].append(sample.value)
    left_out = set(apart)
    changes = {
        name: Change(_mean(found["baseline"]), _mean(found["new"]), _error(errors, name))
        for name, found in values.items()
        if found["baseline"] and found["new"] and name not in left_out
    }
    timed = values.get("timing_s/step", {side: [] for side in SIDES})
    timers = {phase.phase: phase.timer for phase in phases if phase.timer is not None}
    return TrainingLog(_inner(parts), changes, _drivers(driven), timers, {side: len(timed[side]) for side in SIDES})


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


def _inner(parts: Sequence[TimerPart]) -> dict[str, Sequence[InnerTimer]]:
    """For each phase, the first way to divide it that all runs have."""
    runs = {(part.side, part.run) for part in parts}
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


def _drivers(rows: Sequence[TimerDriver]) -> dict[str, Sequence[Driver]]:
    """For each timer, the first metrics that all sides have and that change."""
    found: dict[str, Sequence[Driver]] = {}
    for timer, place in sorted({(row.timer, row.place) for row in rows}):
        group = [row for row in rows if row.timer == timer and row.place == place]
        if timer not in found and {row.side for row in group} == set(SIDES):
            found[timer] = _regressed(group)
    return found


def _regressed(rows: Sequence[TimerDriver]) -> Sequence[Driver]:
    """The slopes of a timer over one or two metrics; over one alone, if both together do not tell."""
    both = rows[0].second is not None and all(row.second_mean is not None and row.of_both is not None for row in rows)
    timer, first = _mean_over_steps(rows, "timer_mean"), _mean_over_steps(rows, "first_mean")
    of_timer, freedom = _pooled(rows, "timer_variance"), sum(row.steps - 1 for row in rows)
    moments, along = [[_pooled(rows, "first_variance")]], [_pooled(rows, "with_first")]
    alone = _Regression((rows[0].first,), (first,), timer, freedom, _least_squares(moments, along, of_timer, freedom))
    if not both:
        return alone.drivers()
    shared, own = _pooled(rows, "of_both"), _pooled(rows, "second_variance")
    moments = [[*moments[0], shared], [shared, own]]
    along.append(_pooled(rows, "with_second"))
    names, means = (rows[0].first, str(rows[0].second)), (first, _mean_over_steps(rows, "second_mean"))
    together = _Regression(names, means, timer, freedom, _least_squares(moments, along, of_timer, freedom)).drivers()
    if any(driver.slope is not None for driver in together):
        return together
    return [*alone.drivers(), replace(together[1], slope=None)]


@dataclass(frozen=True)
class _Regression:
    """Slopes and their standard errors, by metric, with the means of the metrics and of the timer."""

    names: tuple[str, ...]
    means: tuple[float, ...]
    timer: float
    freedom: int
    slopes: Sequence[tuple[float, float | None]]

    def drivers(self) -> list[Driver]:
        made = []
        for name, mean, (slope, error) in zip(self.names, self.means, self.slopes, strict=True):
            proportional = self.timer / mean if mean > 0 else 0.0
            tells = self.freedom >= LEAST_STEPS and error is not None and TELLING * error < proportional
            kept = min(max(slope, 0.0), proportional) * MS_PER_S if tells else None
            made.append(Driver(name, kept, proportional * MS_PER_S))
        return made


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
