"""Judges each metric of a diff by the rules of a policy (docs/design.md §8).

A verdict's text says what was expected, what was found and all values. A value that was not measured, or is NaN or
infinite, counts as missing and never passes.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import count

from rlcompare.compare.aggregates import aggregated
from rlcompare.compare.comparability import is_declared
from rlcompare.compare.estimate import FALSE_ALARM, Spread, allowed, least_odds
from rlcompare.compare.overall import HEADLINES, SPEED
from rlcompare.errors import ExitCode, UsageError
from rlcompare.gate import units
from rlcompare.gate.change import Case, in_families, is_exact, with_new_phase
from rlcompare.gate.health import health_verdicts, is_health_rule
from rlcompare.gate.policy import HEADLINE
from rlcompare.gate.sequential import Odds
from rlcompare.gate.work import work_text
from rlcompare.model.diff import Delta, Diff, Finding
from rlcompare.model.verdict import GateResult, Policy, Rule, Verdict
from rlcompare.model.words import SIDES, EvidenceMode, OnInconclusive, Polarity, RuleSeverity, Severity, Status

FAILED = (Status.REGRESSED, Status.MISSING, Status.UNHEALTHY)
"""Statuses that fail a rule."""

OPEN = (Status.INCONCLUSIVE, Status.NOT_COMPARABLE)
"""Statuses without a decision; ``on_inconclusive`` sets how they are treated."""


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
    if not verdicts and rules:  # if every rule was skipped, the gate must not pass
        verdicts = tuple(_absent(rule, _headline(diff), diff) for rule in rules[:1])
    health = health_verdicts(diff, policy)
    if health and diff.unstable:  # then no change is for the better
        passed = (
            replace(found, status=Status.PASS) if found.status == Status.IMPROVED else found for found in verdicts
        )
        verdicts = (*health, *passed)
    return GateResult(
        policy, verdicts, int(_exit_code(verdicts, policy, barred)), _summary(verdicts, diff, policy, barred)
    )


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
    few, many = sorted(len(side.runs) for side in (diff.baseline, diff.new))
    if policy.evidence != EvidenceMode.RUNS or not few or allowed(few, many, FALSE_ALARM) is not None:
        return
    needed = next(runs for runs in count(1) if allowed(runs, runs, FALSE_ALARM) is not None)
    raise UsageError(
        f'the policy {policy.source} asks for evidence = "runs", but {len(diff.baseline.runs)} against '
        f"{len(diff.new.runs)} runs cannot decide: by luck alone, all runs of one side come after all of the other in "
        f"1 of {round(1 / least_odds(few, many))} comparisons, and at most 1 of {round(1 / FALSE_ALARM)} false alarms "
        f'is allowed. Make {needed} runs per side, or use evidence = "auto"'
    )


def _cases(
    rule: Rule, diff: Diff, policy: Policy, spreads: Mapping[str, Spread], *, comparable: bool
) -> Iterator[Case | Verdict]:
    """The metrics that a rule applies to, or the verdict that there are none."""
    name = _headline(diff) if rule.metric == HEADLINE else rule.metric
    deltas = [delta for delta in diff.overall if _applies(rule, name, delta)]
    if not deltas and "@" in name:
        deltas = [delta for delta in aggregated(diff, name) if _applies(rule, name, delta)]
    if not deltas and not rule.optional:
        yield _absent(rule, name, diff)
    for delta in (_with_new_phase(found, diff) for found in deltas):
        if not (rule.optional and _is_nothing_to_judge(rule, delta)):
            _refuse_wrong_unit(rule, delta, policy)
            yield Case(rule, delta, diff, policy, _spread(rule, delta, policy, spreads), comparable)


def _spread(rule: Rule, delta: Delta, policy: Policy, spreads: Mapping[str, Spread]) -> Spread | None:
    """How much the runs of a metric differ, where there are too few to tell."""
    if policy.evidence == EvidenceMode.RUNS:
        return None
    if rule.noise is not None:
        return Spread(rule.noise, source="as the rule assumes")
    return spreads.get(delta.metric) or Spread(policy.noise, source="as the policy assumes")


def _absent(rule: Rule, name: str, diff: Diff) -> Verdict:
    return Verdict(rule, name, Status.MISSING, _unknown(name, diff), None, None, "", verified=True)


def _is_nothing_to_judge(rule: Rule, delta: Delta) -> bool:
    """Whether there is no value to judge, so that an optional rule is skipped."""
    if rule.metric == HEADLINE:  # skipping without a baseline would let every new side pass
        return not units.fits(rule.absolute_unit, delta.unit)
    return (rule.max_relative is not None or rule.max_absolute is not None) and _unmeasured(delta.baseline)


def _headline(diff: Diff) -> str:
    """The headline metric of the baseline. A new side without it must not pass by another metric."""
    for side in SIDES:
        known = {delta.metric for delta in diff.overall if not _unmeasured(delta.value(side))}
        found = next((metric for metric in (SPEED, *HEADLINES) if metric in known), None)
        if found:
            return found
    return diff.headline


def _applies(rule: Rule, name: str, delta: Delta) -> bool:
    """Whether a rule applies to a metric; globs skip metrics that they cannot judge."""
    if delta.metric == name:
        return True
    if not fnmatchcase(delta.metric, name) or ("@" in delta.metric and "@" not in name):
        return False
    has_direction = delta.polarity != Polarity.NEUTRAL or is_exact(delta.metric)
    return has_direction or rule.min_value is not None or rule.max_value is not None


def _unknown(metric: str, diff: Diff) -> str:
    close = difflib.get_close_matches(metric, [delta.metric for delta in diff.overall], n=3)
    return "expected a value, found no such metric on either side" + (
        f"; similar metrics: {', '.join(close)}" if close else ""
    )


def _with_new_phase(delta: Delta, diff: Diff) -> Delta:
    """Sets the baseline to 0 for a phase that only the new side has, if the baseline has phases at all."""
    part = delta.metric.rpartition(".")[2]
    if not delta.metric.startswith("phase.") or not _unmeasured(delta.baseline) or _unmeasured(delta.new):
        return delta
    alike = (other for other in diff.overall if fnmatchcase(other.metric, f"phase.*.{part}"))
    if all(_unmeasured(other.baseline) for other in alike):
        return delta
    return with_new_phase(delta)


def _unmeasured(value: float | None) -> bool:
    return value is None or not math.isfinite(value)


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


def _summary(verdicts: Sequence[Verdict], diff: Diff, policy: Policy, barred: Sequence[Finding]) -> str:
    if barred:
        keys = ", ".join(dict.fromkeys(finding.key for finding in barred))
        return f"The sides must not be compared: {keys} differs. Declare it with --varied {keys.replace(', ', ',')}."
    failed = [
        verdict for verdict in verdicts if verdict.status in FAILED and verdict.rule.severity == RuleSeverity.ERROR
    ]
    warned = [
        verdict for verdict in verdicts if verdict.status in FAILED and verdict.rule.severity == RuleSeverity.WARN
    ]
    open_ones = [verdict for verdict in verdicts if verdict.status in OPEN]
    parts = []
    if failed:
        parts.append(f"{len(failed)} of {_count(verdicts, 'rule')} failed: {_names(failed)}.")
    elif not verdicts:
        parts.append("Nothing to judge.")
    elif open_ones and policy.on_inconclusive == OnInconclusive.FAIL:
        parts.append(f"The evidence is inconclusive ({_count(verdicts, 'rule')}).")
    else:
        parts.append(f"Nothing failed ({_count(verdicts, 'rule')}).")
    if open_ones:
        words = " or ".join(dict.fromkeys(verdict.status.replace("_", " ") for verdict in open_ones))
        parts.append(f"{len(open_ones)} {words}: {_names(open_ones)}.")
    if any(rule.metric == HEADLINE and not any(v.rule == rule for v in verdicts) for rule in policy.rules):
        parts.append("The step was not judged: neither side has a step time.")
    if warned:
        parts.append(f"{_count(warned, 'warning')}: {_names(warned)}.")
    if any(verdict.unit in ("ms", "s") for verdict in (*failed, *warned, *open_ones)):
        parts.append(work_text(diff))
    return " ".join(filter(None, parts))


def _count(verdicts: Sequence[Verdict], noun: str) -> str:
    return f"{len(verdicts)} {noun}" if len(verdicts) == 1 else f"{len(verdicts)} {noun}s"


def _names(verdicts: Sequence[Verdict]) -> str:
    names = list(dict.fromkeys(verdict.metric for verdict in verdicts))
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
