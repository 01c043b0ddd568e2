"""Judges each metric of a diff by the rules of a policy (docs/design.md §8).

A verdict's text says what was expected, what was found and all values. A value that was not measured, or is NaN or
infinite, counts as missing and never passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from rlcompare.compare.aggregates import is_share
from rlcompare.compare.comparability import is_declared
from rlcompare.compare.estimate import FALSE_ALARM, Spread, allowed, least_odds
from rlcompare.compare.replicates import counted, of_repetitions
from rlcompare.errors import ExitCode, UsageError
from rlcompare.gate import units
from rlcompare.gate.change import Case, in_families
from rlcompare.gate.decision import not_below_steps
from rlcompare.gate.health import health_verdicts, is_health_rule
from rlcompare.gate.matching import Match, judged_of, matched
from rlcompare.gate.sequential import Odds
from rlcompare.gate.summary import FAILED, OPEN, skipped_rules, summary_of
from rlcompare.model.diff import Delta, Diff, Finding
from rlcompare.model.verdict import GateResult, Policy, Rule, Verdict
from rlcompare.model.words import SIDES, EvidenceMode, OnInconclusive, RuleSeverity, Severity, Status


def judge(
    diff: Diff, policy: Policy, spreads: Mapping[str, Spread] | None = None, odds: Odds | None = None
) -> GateResult:
    """All verdicts of a policy on a diff, and the resulting exit code.

    The exit code is 5 for undeclared severe differences, 1 if rules of severity ``error`` failed, 3 if the evidence is
    inconclusive and the policy says ``fail``, and else 0.

    Args:
        spreads: by metric, how much earlier runs differed. Others differ as the policy assumes.
        odds: of a wrong verdict, if this is one of several looks at growing sides.

    Raises:
        UsageError: the unit of a limit does not fit the metric: a time for a size, for example; or the policy asks for
            evidence by runs, and no test can fail with so few.
    """
    diff = of_repetitions(diff)
    barred = tuple(
        finding
        for finding in diff.comparability.findings
        if finding.severity == Severity.SEVERE and not is_declared(finding.key, policy.varied)
    )
    if not barred:
        _refuse_too_few_runs(diff, policy)
    rules = [rule for rule in policy.rules if rule.severity != RuleSeverity.OFF and not is_health_rule(rule)]
    found = [item for rule in rules for item in _cases(rule, diff, policy, spreads or {}, comparable=not barred)]
    made = iter(in_families([item for item in found if isinstance(item, Case)], odds or Odds()))
    verdicts = tuple(next(made) if isinstance(item, Case) else item for item in found)
    verdicts = verdicts or _nothing_judged(rules, diff, policy)
    skipped = skipped_rules(rules, verdicts, diff, policy)
    health = health_verdicts(diff, policy)
    if health and diff.unstable:  # then no change is for the better
        verdicts = tuple(
            replace(found, status=Status.PASS) if found.status == Status.IMPROVED else found for found in verdicts
        )
    verdicts = (*health, *verdicts)
    return GateResult(
        policy,
        verdicts,
        int(_exit_code(verdicts, policy, barred)),
        summary_of(verdicts, diff, policy, barred, skipped),
        skipped,
    )


def _nothing_judged(rules: Sequence[Rule], diff: Diff, policy: Policy) -> tuple[Verdict, ...]:
    """The verdict where every rule was skipped. Then the gate does not pass, unless exceptions turn all off."""
    found = [(rule, matched(rule, diff, policy.rules)) for rule in rules]
    watching = [rule for rule in policy.rules if is_health_rule(rule) and rule.severity == RuleSeverity.ERROR]
    if not found and watching and not diff.symptoms and not any(one.side == "new" for one in diff.series):
        problem = "expected metrics of training on the new side, found none to judge"
        return (_absent(watching[0], Match(watching[0].metric, (), problem)),)
    off = (rule for rule in policy.rules if rule.expires and rule.severity == RuleSeverity.OFF)
    excused = any(matched(rule, diff, policy.rules).deltas for rule in off)
    if not found or (excused and all(match.left for _, match in found)):
        return ()
    rule, match = min(found, key=lambda item: (item[1].left, item[0].severity != RuleSeverity.ERROR))
    left = "expected a value, found only metrics that the policy turns off or leaves out" if match.left else ""
    absent = _absent(rule, replace(match, problem=match.problem or left))
    why = "" if not rule.optional and not match.left else "nothing was judged, so a skipped rule fails: "
    return (replace(absent, text=f"{why}{absent.text}"),)


def _exit_code(verdicts: Sequence[Verdict], policy: Policy, barred: Sequence[Finding]) -> ExitCode:
    errors = [verdict for verdict in verdicts if verdict.rule.severity == RuleSeverity.ERROR]
    if barred:
        return ExitCode.NOT_COMPARABLE
    if any(verdict.status in FAILED for verdict in errors):
        return ExitCode.REGRESSION
    if policy.on_inconclusive == OnInconclusive.FAIL and any(verdict.status in OPEN for verdict in errors):
        return ExitCode.INCONCLUSIVE
    return ExitCode.OK


def _refuse_too_few_runs(diff: Diff, policy: Policy) -> None:
    """Refuses a policy that cannot fail at this number of runs."""
    baseline, new = (len(counted(diff, side)) for side in SIDES)
    few, many = sorted((baseline, new))
    if policy.evidence != EvidenceMode.RUNS or not few or allowed(few, many, FALSE_ALARM) is not None:
        return
    needed = next(runs for runs in count(1) if allowed(runs, runs, FALSE_ALARM) is not None)
    raise UsageError(
        f'the policy {policy.source} asks for evidence = "runs", but {baseline} against {new} '
        f"runs cannot decide: by chance alone, every run of one side exceeds every run of the other in "
        f"1 of {round(1 / least_odds(few, many))} comparisons, but at most 1 false alarm in {round(1 / FALSE_ALARM)} "
        f'comparisons is allowed. Make {needed} runs per side, or use evidence = "auto"'
    )


def _cases(
    rule: Rule, diff: Diff, policy: Policy, spreads: Mapping[str, Spread], *, comparable: bool
) -> Iterator[Case | Verdict]:
    """The metrics that a rule applies to, or the verdict that there are none."""
    found = matched(rule, diff, policy.rules)
    if found.problem and (found.mistyped or not rule.optional):
        yield _absent(rule, found)
    for delta in found.deltas:
        judged = judged_of(rule, delta)
        if judged is not None:
            _refuse_wrong_unit(judged, delta, policy)
            yield Case(judged, rule, delta, diff, policy, _spread(judged, delta, diff, policy, spreads), comparable)


def _spread(rule: Rule, delta: Delta, diff: Diff, policy: Policy, spreads: Mapping[str, Spread]) -> Spread | None:
    """How much the runs of a metric differ, where there are too few to tell."""
    if policy.evidence == EvidenceMode.RUNS:
        return None
    if rule.noise is not None:
        return not_below_steps(Spread(rule.noise, source="the rule's noise"), delta)
    found = spreads.get(delta.metric) or Spread(policy.noise, source="the policy's noise")
    return _of_share(found, delta, diff) if is_share(delta.metric) else not_below_steps(found, delta)


def _of_share(assumed: Spread, delta: Delta, diff: Diff) -> Spread:
    """A share of few steps is not known any better than such a number of steps can tell it."""
    metric = delta.metric.rpartition("@")[0]
    steps = min((len(one.steps) - len(one.left_out) for one in diff.series if one.metric == metric), default=0)
    share = max(delta.baseline or 0.0, delta.new or 0.0)
    if not steps or not 0 < share < 1:
        return assumed
    luck = math.sqrt((1 - share) / (share * steps))
    return Spread(math.hypot(assumed.value, luck), source=f"the sampling error of a share over {steps} steps")


def _absent(rule: Rule, found: Match) -> Verdict:
    problem = found.problem or "expected a value, found none to judge"
    return Verdict(rule, found.name, Status.MISSING, problem, None, None, "", verified=True)


def _refuse_wrong_unit(rule: Rule, delta: Delta, policy: Policy) -> None:
    if rule.max_absolute is None or units.fits(rule.absolute_unit, delta.unit):
        return
    limit = f"{rule.max_absolute:.15g}{rule.absolute_unit}"
    measured = f"is measured in {delta.unit}" if delta.unit else "has no unit"
    raise UsageError(
        f"the policy {policy.source}: the rule for {rule.metric} has the limit {limit}, "
        f"a {units.kind(rule.absolute_unit)}, but {delta.metric} {measured}: "
        "give a limit of the same kind, or a number without a unit"
    )
