"""Data for which the right verdicts are known: both sides the same, then one metric of the new side changed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from statistics import NormalDist

from rlcompare.compare.aggregates import is_measure, meaning
from rlcompare.compare.names import is_exact, polarity_of, unit_of
from rlcompare.compare.overall import SPEED
from rlcompare.gate.health import is_health_rule
from rlcompare.gate.units import converted, fits
from rlcompare.gate.vocabulary import known_names
from rlcompare.metrics import entry
from rlcompare.model.diff import Comparability, Delta, Diff, Side
from rlcompare.model.verdict import HEADLINE, Policy, Rule
from rlcompare.model.words import Comparable, Polarity, RuleSeverity

_SPREAD = 0.002
"""The standard deviation of made-up runs, as a part of their mean."""

_EXAMPLES = 3
"""So many metrics stand for a glob."""

_PARTS = ("*eff_sample_size", "*clip_ratio", "*aborted_ratio", "*_fraction", "*_fraction_*")
"""Metrics that lie between 0 and 1."""


@dataclass(frozen=True)
class Bounds:
    """The values that a metric can have."""

    low: float = -math.inf
    high: float = math.inf

    def nearest(self, value: float) -> float:
        """The possible value next to this one."""
        return min(max(value, self.low), self.high)

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}" if math.isfinite(self.high) else f"at least {self.low:g}"


def bounds_of(delta: Delta) -> Bounds:
    """What a metric can be. Without knowledge: anything."""
    base, _, measure = delta.metric.rpartition("@")
    is_share = bool(base) and measure.startswith(("above", "below")) and is_measure(measure)
    if is_share or any(fnmatchcase(delta.metric, pattern) for pattern in _PARTS):
        return Bounds(0.0, 1.0)
    known = entry(delta.metric)
    positive = delta.unit in ("ms", "s", "bytes", "count") or (known is not None and known.is_never_negative)
    return Bounds(low=0.0) if positive else Bounds()


def scaled(delta: Delta, target: float) -> Delta:
    """The same runs on the new side, multiplied so that their mean is ``target``, and in another order."""
    base = delta.baseline or 0.0
    runs = delta.samples.get("baseline", ())
    turned = (*runs[1:], *runs[:1])
    new = tuple(None if run is None else run * target / base if base else target for run in turned)
    ratio = target / base if base > 0 and target >= 0 else None
    return replace(
        delta, new=target, delta=target - base, ratio=ratio, samples={"baseline": runs, "new": new}, evidence={}
    )


def mirrored(diff: Diff) -> Diff:
    """The baseline of a diff on both sides."""
    same = Comparability(Comparable.COMPARABLE, ())
    known = [delta for delta in diff.overall if delta.baseline is not None and math.isfinite(delta.baseline)]
    old = [one for one in diff.aggregates if one.side == "baseline"]
    series = [one for one in diff.series if one.side == "baseline"]
    return replace(
        diff,
        new=diff.baseline,
        comparability=same,
        overall=tuple(scaled(delta, delta.baseline or 0.0) for delta in known),
        aggregates=(*old, *(replace(one, side="new") for one in old)),
        series=(*series, *(replace(one, side="new") for one in series)),
        symptoms=(),
        causes=(),
        events=(),
    )


def made_up(policy: Policy, tried: Rule, runs: int) -> Diff:
    """Runs of the metrics that the rules of a policy name, the same on both sides.

    Args:
        tried: the rule whose limits the values of its metrics fit.
    """
    others = (rule for rule in policy.rules if rule != tried and rule.severity != RuleSeverity.OFF)
    overall: dict[str, Delta] = {}
    for rule in (tried, *others):
        if not is_health_rule(rule):
            for delta in _deltas(rule, runs):
                overall.setdefault(delta.metric, delta)
    side = Side("made up", (), (), (), {})
    return Diff(side, side, Comparability(Comparable.COMPARABLE, ()), SPEED, tuple(overall.values()), (), (), {})


def _deltas(rule: Rule, runs: int) -> Iterator[Delta]:
    for metric in _names(rule.metric):
        base, _, measure = metric.rpartition("@")
        of_steps = bool(base) and is_measure(measure)
        unit, polarity = unit_of(base if of_steps else metric), polarity_of(base if of_steps else metric)
        if of_steps:
            unit, polarity = meaning(measure, unit, polarity)
        if unit not in ("ms", "s", "bytes") and rule.absolute_unit:  # a metric that nothing is known of
            unit = "ms" if fits(rule.absolute_unit, "ms") else "bytes"
        yield _made_up(metric, unit, polarity, rule, runs)


def _names(metric: str) -> Sequence[str]:
    """Metrics that a name or glob means."""
    base, at, measure = metric.rpartition("@")
    if at and is_measure(measure):
        return [f"{name}@{measure}" for name in _names(base)]
    if metric == HEADLINE:
        return [SPEED]
    if not any(sign in metric for sign in "*?["):
        return [metric]
    known = sorted(known_names(), key=lambda name: "*" in name)  # whole names first
    found = (name.replace("*", "x") for name in known)
    return [name for name in found if fnmatchcase(name, metric)][:_EXAMPLES] or [metric.replace("*", "x")]


def _made_up(metric: str, unit: str, polarity: Polarity, rule: Rule, runs: int) -> Delta:
    level = _level(rule, unit)
    spread = 0.0 if is_exact(metric) else _SPREAD
    places = [NormalDist().inv_cdf((index + 0.5) / runs) for index in range(runs)]
    delta = Delta(
        metric, unit, polarity, level, level, 0.0, 1.0, {"baseline": tuple(level * (1 + spread * at) for at in places)}
    )
    return scaled(delta, level)


def _level(rule: Rule, unit: str) -> float:
    """A baseline that the limits of a rule fit: 20 times what they allow."""
    if rule.max_absolute:
        absolute = converted(rule.max_absolute, rule.absolute_unit, unit)
        return 20 * absolute / min(rule.max_relative or 1.0, 1.0)
    value = rule.max_value if rule.max_value is not None else rule.min_value
    return value if value else 100.0 if rule.max_relative is not None else 1.0
