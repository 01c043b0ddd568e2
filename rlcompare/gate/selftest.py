"""``rlcompare gate --selftest``: whether the rules of a policy can fire, and pass where they should.

Both sides get known runs. Then the new side is scaled by each limit of each rule: within it the rule must pass,
beyond it must fire, and equal runs must pass. The verdicts are those of ``judge`` on the whole policy, so this
tests the gate itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from rlcompare.compare.estimate import Spread
from rlcompare.errors import ExitCode, UsageError
from rlcompare.gate import text
from rlcompare.gate.health import is_health_rule
from rlcompare.gate.known_data import bounds_of, made_up, mirrored, scaled
from rlcompare.gate.matching import is_of_headline, matched
from rlcompare.gate.rules import judge
from rlcompare.gate.units import converted
from rlcompare.gate.vocabulary import mistyped_for
from rlcompare.model.diff import SYMPTOMS, Delta, Diff, Symptom
from rlcompare.model.digits import grouped
from rlcompare.model.verdict import GateResult, Policy, Rule, Verdict
from rlcompare.model.words import Polarity, RuleSeverity, Status

RUNS = 5
"""Runs a side of data that is made up."""

_STEPS = (1.5, 2.0, 3.0, 5.0, 10.0)
"""Multiples of a limit at which a rule is tried until it fires."""

_FAR = (0.5, 1.0)
"""Parts of the baseline that are tried after these: what few runs can tell does not depend on the limit."""

_NO_LIMIT = 0.05
"""Where no change is tolerated, multiples of this part of the baseline are tried instead."""

_MOST = 10.0
"""A limit above so many times the baseline is taken for a mistake."""


@dataclass(frozen=True)
class Trial:
    """One limit of a rule, tried on one metric.

    Attributes:
        limit: what the rule expects, as in a verdict.
        equal, within, beyond: the outcomes; empty if not tried.
        fires_at: the change or value that fails the rule; empty if none does.
        problem: why the rule is of no use; empty if it fires and holds.
        too_small: whether the metric is too small for the limit. That is a problem only if all metrics of a rule are.
        skipped: why an optional rule was not tried; empty if it was.
    """

    rule: Rule
    metric: str
    limit: str = ""
    equal: str = ""
    within: str = ""
    beyond: str = ""
    fires_at: str = ""
    problem: str = ""
    too_small: bool = False
    skipped: str = ""


@dataclass(frozen=True)
class _Bench:
    """What a rule is tried with."""

    policy: Policy
    data: Diff
    spreads: Mapping[str, Spread]

    def judged(self, **changes: Any) -> GateResult:
        """The result of the gate on changed data."""
        return judge(replace(self.data, **changes), self.policy, self.spreads)

    def verdict(self, rule: Rule, changed: Delta) -> tuple[Verdict, int]:
        """The verdict of the rule on data in which one metric changed, and the exit code.

        A rule for the headline may judge another metric then: a step that is shorter than its device's time is none.
        """
        others = tuple(delta for delta in self.data.overall if delta.metric != changed.metric)
        result = self.judged(overall=(*others, changed))
        why = "at this value the rule judges another metric"
        absent = Verdict(rule, changed.metric, Status.MISSING, why, None, None, "", verified=True)
        own = (one for one in result.verdicts if one.rule == rule and one.metric == changed.metric)
        return next(own, absent), result.exit_code


def try_policy(
    policy: Policy, diff: Diff | None = None, spreads: Mapping[str, Spread] | None = None, runs: int = RUNS
) -> tuple[Trial, ...]:
    """Tries each limit of each rule that is not turned off.

    Args:
        diff: its baseline stands on both sides; None: made-up runs of the metrics that the rules name.
        spreads: as for ``judge``.
        runs: the number of made-up runs a side.
    """
    known = None if diff is None else _Bench(policy, mirrored(diff), spreads or {})
    applied = [rule for rule in policy.rules if rule.severity != RuleSeverity.OFF]
    return tuple(trial for rule in applied for trial in _of_rule(rule, policy, known, runs))


def _of_rule(rule: Rule, policy: Policy, known: _Bench | None, runs: int) -> Iterator[Trial]:
    if is_health_rule(rule):
        yield from _of_symptoms(rule, known or _Bench(policy, made_up(policy, rule, runs), {}))
        return
    if known is None and (meant := mistyped_for(rule.metric.partition("@")[0], ())) and not is_of_headline(rule):
        yield Trial(rule, rule.metric, problem=f"the metric is unknown; did you mean {meant}?")
        return
    for alone in _single_limits(rule):
        tried = replace(policy, rules=tuple(alone if one == rule else one for one in policy.rules))
        bench = replace(known, policy=tried) if known else _Bench(tried, made_up(tried, alone, runs), {})
        found = matched(alone, bench.data, tried.rules)
        if found.problem and (found.mistyped or not rule.optional or known is None):
            yield Trial(rule, found.name, problem=found.problem)
            return
        if not found.deltas:
            yield Trial(rule, found.name, skipped=found.problem or "other rules judge everything that it matches")
            return
        made = [_of_limit(alone, delta, bench) for delta in found.deltas]
        fires = any(not trial.problem for trial in made)
        yield from (replace(trial, problem="") if fires and trial.too_small else trial for trial in made)


def _single_limits(rule: Rule) -> Iterator[Rule]:
    """The rule with only its limit on the change, its lowest, its highest value: each of them must be able to fail."""
    if rule.max_relative is not None or rule.max_absolute is not None:
        yield replace(rule, min_value=None, max_value=None)
    of_value = replace(rule, max_relative=None, max_absolute=None, absolute_unit="")
    if rule.min_value is not None:
        yield replace(of_value, max_value=None)
    if rule.max_value is not None:
        yield replace(of_value, min_value=None)


def _of_limit(rule: Rule, delta: Delta, bench: _Bench) -> Trial:
    trial = Trial(rule, delta.metric, text.expected(rule, delta))
    try:
        if rule.min_value is None and rule.max_value is None:
            return _of_change(rule, delta, bench, trial)
        return _of_value(rule, delta, bench, trial)
    except UsageError as error:
        return replace(trial, problem=str(error))


def _of_change(rule: Rule, delta: Delta, bench: _Bench, trial: Trial) -> Trial:
    base, limit = delta.baseline or 0.0, _tolerated(rule, delta)
    if limit > _MOST * abs(base) > 0:
        problem = f"a change of {grouped(limit / abs(base))} times the baseline is within the limits"
        return replace(trial, problem=problem, too_small=True)
    bounds, sign = bounds_of(delta), -1 if delta.polarity == Polarity.HIGHER else 1
    equal = bench.verdict(rule, scaled(delta, base))[0]
    trial = replace(trial, equal=equal.status)
    if limit:
        inside = bench.verdict(rule, scaled(delta, base + sign * limit / 2))[0]
        trial = replace(trial, within=inside.status)
    near = [step * (limit or _NO_LIMIT * abs(base) or 1.0) for step in _STEPS]
    far = [step * abs(base) for step in _FAR if step * abs(base) > near[-1]]
    targets = [bounds.nearest(base + sign * change) for change in (*near, *far)]
    return _fired(trial, rule, delta, targets, bench)


def _of_value(rule: Rule, delta: Delta, bench: _Bench, trial: Trial) -> Trial:
    bounds, limit = bounds_of(delta), rule.max_value if rule.max_value is not None else rule.min_value
    limit, sign = limit or 0.0, 1 if rule.max_value is not None else -1
    apart = abs(limit) / 2 or 1.0
    inside, outside = (
        bounds.nearest(limit - sign * apart),
        [bounds.nearest(limit + sign * step * apart) for step in _STEPS],
    )
    if _beyond(inside, limit, sign):
        return replace(trial, problem=f"every possible value of {delta.metric} ({bounds}) fails")
    within = bench.verdict(rule, scaled(delta, inside))[0]
    if not any(_beyond(target, limit, sign) for target in outside):
        return replace(trial, within=within.status, problem=f"no possible value of {delta.metric} ({bounds}) fails")
    return _fired(replace(trial, within=within.status), rule, delta, outside, bench)


def _beyond(value: float, limit: float, sign: int) -> bool:
    return sign * (value - limit) > 0


def _fired(trial: Trial, rule: Rule, delta: Delta, targets: Sequence[float], bench: _Bench) -> Trial:
    """Tries values ever further beyond the limit. A problem if none of them fails, or if another does not pass."""
    for target in dict.fromkeys(targets):
        changed = scaled(delta, target)
        verdict, exit_code = bench.verdict(rule, changed)
        trial = replace(trial, beyond=verdict.status, fires_at=_said(rule, changed))
        if verdict.status == Status.REGRESSED:
            if rule.severity == RuleSeverity.ERROR and exit_code != ExitCode.REGRESSION:
                return replace(trial, problem=f"it fires, but the exit code is {exit_code}")
            return replace(trial, problem=_not_held(trial))
    return replace(
        trial, fires_at="", problem=f"it cannot fire: {_said(rule, changed)} is {trial.beyond}: {verdict.text}"
    )


def _not_held(trial: Trial) -> str:
    """What does not hold. Half of the limit may stay open: few runs cannot tell it from twice the limit."""
    if trial.equal not in ("", Status.PASS):
        return f"equal runs are {trial.equal.replace('_', ' ')}: the limit is too small for the noise of the runs"
    if trial.within == Status.MISSING:
        return f"at a value within the limit the rule judges another metric than {trial.metric}"
    if trial.within not in ("", Status.PASS, Status.INCONCLUSIVE):
        return f"a change within the limit is {trial.within.replace('_', ' ')}"
    return ""


def _said(rule: Rule, delta: Delta) -> str:
    of_value = rule.min_value is not None or rule.max_value is not None
    return text.quantity(delta.new or 0.0, delta.unit) if of_value else text.change(delta)


def _tolerated(rule: Rule, delta: Delta) -> float:
    """The change for the worse from which all limits on it are exceeded, in the metric's unit."""
    absolute = 0.0 if rule.max_absolute is None else converted(rule.max_absolute, rule.absolute_unit, delta.unit)
    return max((rule.max_relative or 0.0) * abs(delta.baseline or 0.0), absolute)


def _of_symptoms(rule: Rule, bench: _Bench) -> Iterator[Trial]:
    for key in SYMPTOMS:
        if not fnmatchcase(key, rule.metric):
            continue
        symptom = Symptom(key, "", "new", RuleSeverity.WARN, None, None, None, "tried")
        result = bench.judged(symptoms=(symptom,))
        found = next((one for one in result.verdicts if one.metric == key), None)
        if found is None or found.rule.severity != rule.severity:
            yield Trial(rule, key, problem="another rule decides about this symptom")
        else:
            yield Trial(rule, key, f"severity {rule.severity}", beyond=found.status, fires_at="the first sign")
