"""Decides on one change from the runs of both sides (docs/design.md §8). Pure: numbers in, a decision out.

A change fails if the estimate is beyond the limit and the interval excludes no change. It passes if the estimate is
within the limit and the far end of the interval within twice the limit. Else the runs do not decide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import NormalDist, fmean, median

from rlcompare.compare.estimate import (
    BY_STEPS,
    FALSE_ALARM,
    MISS,
    Estimate,
    Spread,
    absolute_change,
    allowed,
    relative_change,
)
from rlcompare.model.diff import STEP_FREEDOM, STEP_NOISE, Delta
from rlcompare.model.words import Polarity, Status

MOST_RUNS = 100
"""More runs per side than this are not proposed."""

_DOUBT = 0.01
"""How often runs that differ as assumed are taken to differ by more."""

_EXACT_RUNS = 20
"""Runs per side up to which the number that would decide is looked for with exact tests. More of these take seconds."""

_ROUNDING, _EPSILON = 1e-9, 1e-12
"""Tolerances for floating-point rounding: relative to a limit, and to the baseline (a mean of equal values is inexact).
"""


@dataclass(frozen=True)
class Limits:
    """The largest tolerated change for the worse: a fraction of the baseline, and a change in the metric's unit.

    With both, a change must exceed both to fail.
    """

    relative: float | None
    absolute: float | None


@dataclass(frozen=True)
class Decision:
    """What the runs tell of one change.

    Attributes:
        status: ``regressed``, ``improved``, ``pass`` or ``inconclusive``.
        interval: the change for better or worse with its interval: a fraction of the baseline if all values are
            positive, else in the metric's unit.
        relative: whether ``interval`` is a fraction.
        measured: whether the end of the interval that decided, or that left it open, comes from the runs alone.
        runs_needed: about how many runs per side would decide; None: more than ``MOST_RUNS``, or decided already.
        beyond: whether the estimate is beyond the limit for the worse.
        spread: what was assumed where the runs are too few: as given, or that of the runs if they contradict it.
    """

    status: Status
    interval: Estimate
    relative: bool
    measured: bool
    runs_needed: int | None = None
    beyond: bool = False
    spread: Spread | None = None


def not_below_steps(spread: Spread, delta: Delta) -> Spread:
    """An assumed spread, or that of the steps if it is larger: runs differ by no less than luck moves their means."""
    noise, freedom = delta.evidence.get(STEP_NOISE), delta.evidence.get(STEP_FREEDOM)
    if not isinstance(noise, float) or not isinstance(freedom, int):
        return spread
    by_steps = Spread(noise, freedom, BY_STEPS)
    return max(spread, by_steps, key=lambda one: one.reach(FALSE_ALARM) * one.value)


def decide(
    baseline: Sequence[float],
    new: Sequence[float],
    polarity: Polarity,
    limits: Limits,
    spread: Spread | None,
    *,
    false_alarm: float = FALSE_ALARM,
    miss: float = MISS,
) -> Decision:
    """The decision on a change.

    Args:
        baseline, new: one value per run, at least one per side.
        polarity: which direction is worse; with ``neutral`` it is that of the change, and each has half of the odds.
        limits: at least one of them.
        spread: how much runs differ, where there are too few of them to tell; None: nothing is assumed.
        false_alarm: the probability of a failure, or of an improvement, if nothing changed.
        miss: the probability that a change of twice the limit passes.
    """
    is_relative = min(chain(baseline, new)) > 0
    spread = _not_contradicted(spread, baseline, new, is_relative)
    decision = _decided(baseline, new, polarity, limits, spread, is_relative, false_alarm, miss)
    return replace(decision, spread=spread)


def _decided(
    baseline: Sequence[float],
    new: Sequence[float],
    polarity: Polarity,
    limits: Limits,
    spread: Spread | None,
    is_relative: bool,
    false_alarm: float,
    miss: float,
) -> Decision:
    measure = relative_change if is_relative else absolute_change
    if polarity == Polarity.NEUTRAL:
        false_alarm, miss = false_alarm / 2, miss / 2
    upwards = measure(baseline, new, false_alarm, miss, spread)
    downwards = _turned(measure(baseline, new, miss, false_alarm, spread))
    sides = {1: upwards, -1: downwards}
    worse = {Polarity.LOWER: 1, Polarity.HIGHER: -1, Polarity.NEUTRAL: 1 if upwards.change >= 0 else -1}[polarity]
    judged = _Judged(baseline, new, limits, is_relative)
    found, other = sides[worse], sides[-worse]
    shown = found if worse == 1 else _turned(found)
    if judged.exceeds(found.change, worse):
        if found.low > 0:
            return Decision(Status.REGRESSED, shown, is_relative, found.low_measured, beyond=True)
        return _open(judged, shown, found, worse, spread, found.low_measured, false_alarm, miss)
    if polarity != Polarity.NEUTRAL and judged.exceeds(other.change, -worse) and other.low > 0:
        shown = other if worse == -1 else _turned(other)
        return Decision(Status.IMPROVED, shown, is_relative, other.low_measured)
    if polarity != Polarity.NEUTRAL and found.high < 0:  # for the better: its near end is as sure as of a failure
        shown = other if worse == -1 else _turned(other)
    far = [found.high] if polarity != Polarity.NEUTRAL else [found.high, other.high]
    if all(judged.is_within_twice(end) for end in far):
        return Decision(Status.PASS, shown, is_relative, found.high_measured)
    return _open(judged, shown, found, worse, spread, found.high_measured, false_alarm, miss)


def _not_contradicted(
    spread: Spread | None, baseline: Sequence[float], new: Sequence[float], is_relative: bool
) -> Spread | None:
    """An assumed spread, or that of the runs if these differ by more than luck allows (chi-squared)."""
    freedom = len(baseline) + len(new) - 2
    if spread is None or not spread.value or not freedom:
        return spread
    level = 1.0 if is_relative else max(abs(median(baseline)), abs(median(new))) or 1.0
    measured = _deviation(baseline, new, is_relative) / level
    if measured * math.sqrt(freedom) <= spread.value * math.sqrt(_chi_squared(1 - _DOUBT, freedom)):
        return spread
    return Spread(measured, freedom, "measured on these runs")


def _deviation(baseline: Sequence[float], new: Sequence[float], is_relative: bool) -> float:
    """One standard deviation of the runs of a side: of their logarithms, or in their unit."""
    sides = [[math.log(value) if is_relative else value for value in values] for values in (baseline, new)]
    freedom = len(baseline) + len(new) - 2
    return math.hypot(*(value - fmean(values) for values in sides for value in values)) / math.sqrt(freedom)


def _chi_squared(probability: float, freedom: int) -> float:
    """A quantile of the chi-squared distribution (Wilson and Hilferty)."""
    part = 2 / (9 * freedom)
    return freedom * (1 - part + NormalDist().inv_cdf(probability) * math.sqrt(part)) ** 3


@dataclass(frozen=True)
class _Judged:
    """The runs of both sides, and the limits."""

    baseline: Sequence[float]
    new: Sequence[float]
    limits: Limits
    is_relative: bool

    @property
    def level(self) -> float:
        return abs(median(self.baseline))

    def exceeds(self, change: float, sign: int) -> bool:
        """Whether a change in one direction exceeds every limit that is set."""
        found = []
        if self.limits.relative is not None:
            scale = 1.0 if self.is_relative else self.level
            found.append(change > self.limits.relative * scale * (1 + _ROUNDING) + _EPSILON * scale)
        if self.limits.absolute is not None:
            shift = median(sign * (there - here) for here in self.baseline for there in self.new)
            found.append(shift > self.limits.absolute * (1 + _ROUNDING) + _EPSILON * self.level)
        return change > 0 and all(found)

    def is_within_twice(self, end: float) -> bool:
        """Whether an end of the interval is within twice a limit."""
        return end <= self.twice * (1 + _ROUNDING) + _EPSILON * (1.0 if self.is_relative else self.level)

    @property
    def twice(self) -> float:
        """Twice the larger limit, on the scale of the interval."""
        scale = 1.0 if self.is_relative else self.level
        found = [] if self.limits.relative is None else [self.limits.relative * scale]
        if self.limits.absolute is not None:
            found.append(self.limits.absolute / self.level if self.is_relative else self.limits.absolute)
        return 2 * max(found)


def _turned(estimate: Estimate) -> Estimate:
    """The same with the opposite sign."""
    return Estimate(-estimate.change, -estimate.high, -estimate.low, estimate.high_measured, estimate.low_measured)


def _open(
    judged: _Judged,
    shown: Estimate,
    found: Estimate,
    sign: int,
    spread: Spread | None,
    measured: bool,
    false_alarm: float,
    miss: float,
) -> Decision:
    fails = judged.exceeds(found.change, sign)
    gap = found.change if fails else judged.twice - found.change
    tail = false_alarm if fails else miss
    if judged.is_relative:
        gap = abs(_logarithm(sign * found.change) - (0.0 if fails else _logarithm(sign * judged.twice)))
    apart = _spread_of_runs(judged, spread)
    old, new = len(judged.baseline), len(judged.new)
    scaled = spread and spread._replace(value=spread.value * (1.0 if judged.is_relative else judged.level))
    needed = _runs_needed(gap, apart, tail, scaled, max(old, new) - (old != new))
    return Decision(Status.INCONCLUSIVE, shown, judged.is_relative, measured, needed, fails)


def _logarithm(change: float) -> float:
    return math.log1p(max(change, -0.999999))


def _spread_of_runs(judged: _Judged, spread: Spread | None) -> float:
    """One standard deviation of runs on the scale of the interval: as measured, or assumed if there are few."""
    if len(judged.baseline) + len(judged.new) < 6:
        return (spread.value if spread else 0.0) * (1.0 if judged.is_relative else judged.level)
    return _deviation(judged.baseline, judged.new, judged.is_relative)


def _runs_needed(gap: float, apart: float, tail: float, spread: Spread | None, have: int) -> int | None:
    """About how many runs per side, more than ``have``, decide if the estimate stays as it is.

    ``gap``, ``apart`` and ``spread`` are on the scale of the interval.
    """
    for runs in range(have + 1, MOST_RUNS + 1):
        wrong = about_allowed(runs, tail)
        if wrong is None:
            reach = None if spread is None else spread.reach(tail) * spread.value * math.sqrt(2 / runs)
            if reach is not None and gap > reach and _wrong_pairs(gap, apart, runs) < 1:
                return runs
        elif _wrong_pairs(gap, apart, runs) <= wrong:
            return runs
    return None


def about_allowed(runs: int, tail: float) -> int | None:
    """``allowed`` for as many runs on each side; for many of them by the normal distribution."""
    if runs <= _EXACT_RUNS:
        return allowed(runs, runs, tail)
    deviation = runs * math.sqrt((2 * runs + 1) / 12)
    return math.floor(runs**2 / 2 - 0.5 - NormalDist().inv_cdf(1 - tail) * deviation)


def _wrong_pairs(gap: float, apart: float, runs: int) -> float:
    """How many pairs of runs lie beyond a gap by luck, in the mean."""
    if apart <= 0:
        return 0.0
    return runs**2 * NormalDist().cdf(-gap / (apart * math.sqrt(2)))
