"""Metrics by another measure than the mean over steps: ``timing_s/step@p95`` is the 95th percentile of the step times.

| after the @ | of each run |
|---|---|
| ``median``, ``p5``, ``p95`` | the median, the percentile |
| ``trimmed`` | the mean of the middle 80 % of the steps |
| ``worst10`` | the worst mean of ten neighbouring steps: the lowest if higher is better, else the highest |
| ``above40``, ``below0.3`` | the share of steps with a value above or below that, in the metric's own unit |
| ``steps100-200`` | the mean over those of these steps that both sides logged |

All are of the steps that count for the mean, except that ``steps1-5`` has the first step. ``worst10`` needs ten steps.
The last two need each step. Where the series is thinned, as in runs of very many steps, these two are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from fnmatch import fnmatchcase
from math import fsum

from rlcompare.compare.overall import mean
from rlcompare.compare.records import MetricAggregate
from rlcompare.compare.rows import difference, ratio
from rlcompare.compare.runs import overlap
from rlcompare.model.diff import NOT_COMPARED, RUNS_OVERLAP, Aggregate, Delta, Diff, Series
from rlcompare.model.words import SIDES, Polarity

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_SHARE = re.compile(rf"(above|below)({_NUMBER})")
_WINDOW = re.compile(r"steps(\d+)-(\d+)")
_OPPOSITE = {Polarity.LOWER: Polarity.HIGHER, Polarity.HIGHER: Polarity.LOWER, Polarity.NEUTRAL: Polarity.NEUTRAL}

_MEASURES: Mapping[str, Callable[[Aggregate], float]] = {
    "median": lambda of: of.median,
    "trimmed": lambda of: of.trimmed,
    "p5": lambda of: of.p5,
    "p95": lambda of: of.p95,
}
MEASURES = (*_MEASURES, "worst10", "above40", "below0.3", "steps100-200")
"""What may follow an @, with examples of numbers."""

_WORST = 10
"""The steps of ``worst10``. A run with fewer has no such measure."""

_EXTREMES: Mapping[bool, Callable[[Aggregate], float]] = {True: lambda of: of.lowest, False: lambda of: of.highest}


def is_measure(text: str) -> bool:
    """Whether it may follow the @ of a metric of training."""
    return text in (*_MEASURES, "worst10") or any(form.fullmatch(text) for form in (_SHARE, _WINDOW))


def is_share(metric: str) -> bool:
    """Whether a metric is the share of the steps beyond a value."""
    return _SHARE.fullmatch(metric.rpartition("@")[2]) is not None


def metric_aggregates(rows: Sequence[MetricAggregate]) -> tuple[Aggregate, ...]:
    """``Diff.aggregates``."""
    return tuple(
        Aggregate(
            row.name, row.side, row.run, row.steps, row.median, row.trimmed, row.p5, row.p95, row.highest, row.lowest
        )
        for row in rows
    )


def aggregated(diff: Diff, name: str) -> tuple[Delta, ...]:
    """The metrics that a name such as ``timing_s/step@p95`` means; before the @ there may be a glob.

    Empty if no metric matches, or if there is no such measure.
    """
    pattern, _, measure = name.rpartition("@")
    found = (delta for delta in diff.overall if not _is_of_ranks(delta.metric) and fnmatchcase(delta.metric, pattern))
    made = (_delta(diff, delta, measure) for delta in found)
    return tuple(delta for delta in made if delta is not None)


def meaning(measure: str, unit: str, polarity: Polarity) -> tuple[str, Polarity]:
    """Unit and direction of a measure of a metric that has these."""
    share = _SHARE.fullmatch(measure)
    return "ratio" if share else unit, _OPPOSITE[polarity] if share and share[1] == "below" else polarity


def _is_of_ranks(metric: str) -> bool:
    """Whether it is ``time.step@max`` and the like. Names that training logs may have an @, too: ``mean@8``."""
    return metric.startswith("time.") and "@" in metric


def _delta(diff: Diff, base: Delta, measure: str) -> Delta | None:
    values = _of_runs(diff, base, measure)
    if not values:
        return None
    samples = {side: tuple(values.get((side, run)) for run in range(len(base.samples.get(side, ())))) for side in SIDES}
    baseline, new = (mean(samples[side]) for side in SIDES)
    compared, overlapping = NOT_COMPARED not in base.evidence, overlap(*(samples[side] for side in SIDES))
    unit, polarity = meaning(measure, base.unit, base.polarity)
    evidence = {} if overlapping is None else {RUNS_OVERLAP: overlapping}
    return replace(
        base,
        metric=f"{base.metric}@{measure}",
        unit=unit,
        polarity=polarity,
        baseline=baseline,
        new=new,
        delta=difference(baseline, new) if compared else None,
        ratio=ratio(baseline, new) if compared else None,
        samples=samples,
        evidence=evidence if compared else base.evidence,
    )


def _of_runs(diff: Diff, base: Delta, measure: str) -> dict[tuple[str, int], float]:
    """The measure of each run that has it."""
    own = [one for one in diff.aggregates if one.metric == base.metric]
    if measure == "worst10":
        enough = (one for one in own if one.steps >= _WORST)
        return {(one.side, one.run): _EXTREMES[base.polarity == Polarity.HIGHER](one) for one in enough}
    if measure in _MEASURES:
        return {(one.side, one.run): _MEASURES[measure](one) for one in own}
    series = [one for one in diff.series if one.metric == base.metric and one.logged == len(one.steps) > 0]
    if share := _SHARE.fullmatch(measure):
        counted = (one for one in series if len(one.left_out) < len(one.steps))
        return {(one.side, one.run): _share(one, share[1], float(share[2])) for one in counted}
    if window := _WINDOW.fullmatch(measure):
        first, last = map(int, window.groups())
        logged = [
            {step for one in series if one.side == side for step in one.steps if first <= step <= last}
            for side in SIDES
        ]
        steps = set.intersection(*logged) if all(logged) else set.union(*logged)
        return {(one.side, one.run): _mean(one, steps) for one in series if not steps.isdisjoint(one.steps)}
    return {}


def _share(series: Series, where: str, limit: float) -> float:
    left_out = set(series.left_out)
    values = [value for step, value in zip(series.steps, series.values, strict=True) if step not in left_out]
    return sum(value > limit if where == "above" else value < limit for value in values) / len(values)


def _mean(series: Series, steps: Set[int]) -> float:
    values = [value for step, value in zip(series.steps, series.values, strict=True) if step in steps]
    return fsum(values) / len(values)
