"""Judges each metric of a diff by the rules of a policy (docs/design.md §8).

A verdict's text says what was expected, what was found and all values. A value that was not measured, or is NaN or
infinite, counts as missing and never passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from rlcompare.compare.comparability import is_declared
from rlcompare.compare.runs import known, overlap
from rlcompare.errors import ExitCode, UsageError
from rlcompare.gate import text, units
from rlcompare.gate.evidence import enough_runs, is_exact
from rlcompare.gate.health import health_verdicts, is_health_rule
from rlcompare.gate.matching import Match, is_of_headline, matched
from rlcompare.gate.summary import FAILED, OPEN, summary_of
from rlcompare.gate.work import PerToken, per_token
from rlcompare.model.diff import NOT_COMPARED, Delta, Diff, Finding, Samples
from rlcompare.model.verdict import RUNS_NEEDED, GateResult, Policy, Rule, Verdict
from rlcompare.model.words import EvidenceMode, OnInconclusive, Polarity, RuleSeverity, Severity, Status

_ROUNDING = 1e-9
"""Relative tolerance at a limit, for floating-point rounding."""


def judge(diff: Diff, policy: Policy) -> GateResult:
    """All verdicts of a policy on a diff, and the resulting exit code.

    The exit code is 5 for undeclared severe differences, 1 if rules of severity ``error`` failed, 3 if the evidence is
    inconclusive and the policy says ``fail``, and else 0.

    Raises:
        UsageError: the unit of a limit does not fit the metric: a time for a size, for example.
    """
    barred = tuple(
        finding
        for finding in diff.comparability.findings
        if finding.severity == Severity.SEVERE and not is_declared(finding.key, policy.varied)
    )
    rules = [rule for rule in policy.rules if rule.severity != RuleSeverity.OFF and not is_health_rule(rule)]
    verdicts = tuple(verdict for rule in rules for verdict in _verdicts(rule, diff, policy, comparable=not barred))
    if not verdicts:  # if every rule was skipped, the gate must not pass
        skipped = ((rule, matched(rule, diff)) for rule in rules)
        verdicts = tuple(_absent(rule, found) for rule, found in skipped if not found.left)[:1]
    health = health_verdicts(diff, policy)
    if health and diff.unstable:  # then no change is for the better
        passed = (
            replace(found, status=Status.PASS) if found.status == Status.IMPROVED else found for found in verdicts
        )
        verdicts = (*health, *passed)
    return GateResult(
        policy, verdicts, int(_exit_code(verdicts, policy, barred)), summary_of(verdicts, diff, policy, barred)
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


def _verdicts(rule: Rule, diff: Diff, policy: Policy, *, comparable: bool) -> Iterator[Verdict]:
    found = matched(rule, diff)
    if found.problem and (found.mistyped or not rule.optional):
        yield _absent(rule, found)
    for delta in (_with_new_phase(delta, diff) for delta in found.deltas):
        if not (rule.optional and _is_nothing_to_judge(rule, delta)):
            yield _verdict(rule, delta, diff, policy, comparable=comparable)


def _absent(rule: Rule, found: Match) -> Verdict:
    problem = found.problem or "expected a value, found none to judge"
    return Verdict(rule, found.name, Status.MISSING, problem, None, None, "", verified=True)


def _is_nothing_to_judge(rule: Rule, delta: Delta) -> bool:
    """Whether there is no value to judge, so that an optional rule is skipped."""
    if is_of_headline(rule):  # skipping without a baseline would let every new side pass
        return not units.fits(rule.absolute_unit, delta.unit)
    return _limits_change(rule) and _unmeasured(delta.baseline)


def _with_new_phase(delta: Delta, diff: Diff) -> Delta:
    """Sets the baseline to 0 for a phase that only the new side has, if the baseline has phases at all."""
    part = delta.metric.rpartition(".")[2]
    if not delta.metric.startswith("phase.") or not _unmeasured(delta.baseline) or _unmeasured(delta.new):
        return delta
    alike = (other for other in diff.overall if fnmatchcase(other.metric, f"phase.*.{part}"))
    if all(_unmeasured(other.baseline) for other in alike):
        return delta
    runs: Samples = {
        "baseline": tuple(0.0 for _ in delta.samples.get("baseline", ())),
        "new": delta.samples.get("new", ()),
    }
    return replace(delta, baseline=0.0, delta=delta.new, ratio=None, samples=runs)


def _limits_change(rule: Rule) -> bool:
    return rule.max_relative is not None or rule.max_absolute is not None


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


def _verdict(rule: Rule, delta: Delta, diff: Diff, policy: Policy, *, comparable: bool) -> Verdict:
    _refuse_wrong_unit(rule, delta, policy)
    status, said, verified = _status(rule, delta, per_token(delta, diff), policy, comparable=comparable)
    return Verdict(rule, delta.metric, status, said, delta.baseline, delta.new, delta.unit, verified)


def _status(
    rule: Rule, delta: Delta, work: PerToken | None, policy: Policy, *, comparable: bool
) -> tuple[Status, str, bool]:
    """Status, text, and whether it is backed by run-level evidence (or needs none)."""
    expected, values = f"expected {text.expected(rule, delta)}", text.values(delta)
    if delta.new is None or not math.isfinite(delta.new):
        return Status.MISSING, f"{expected}, found no value on the new side{values}", True
    beyond = _beyond_value(rule, delta.new)
    many = policy.evidence != EvidenceMode.LIMITS and enough_runs(delta.samples.get("new", ()))
    if (beyond and comparable) or not _limits_change(rule):
        status, verified = Status.REGRESSED if beyond else Status.PASS, is_exact(delta.metric) or many
        return status, f"{expected}, found {text.quantity(delta.new, delta.unit)}{values}", verified
    if delta.baseline is None or not math.isfinite(delta.baseline):
        return Status.MISSING, f"{expected}, found no value on the baseline{values}", True
    if NOT_COMPARED in delta.evidence:
        reason = f"verl changed what it means ({delta.evidence[NOT_COMPARED]})"
        return Status.NOT_COMPARABLE, f"{expected}, found values that cannot be compared{values}: {reason}", False
    found = f"{expected}, found {text.change(delta)}{values}"
    if not comparable:
        return Status.NOT_COMPARABLE, f"{found}; the sides must not be compared", False
    worse = _is_beyond(rule, delta, _worsening(delta))
    if worse and work:
        found += f"; {work.text}"
        if work.growth > 1 and not _is_beyond(rule, delta, (delta.baseline or 0.0) * (work.factor - 1)):
            return Status.INCONCLUSIVE, f"{found}, within the limits", False
    return _judge_change(rule, delta, policy, found, worse=worse)


def _judge_change(rule: Rule, delta: Delta, policy: Policy, found: str, *, worse: bool) -> tuple[Status, str, bool]:
    better = delta.polarity != Polarity.NEUTRAL and _is_beyond(rule, delta, -_worsening(delta))
    status = Status.REGRESSED if worse else Status.IMPROVED if better else Status.PASS
    if worse and rule.max_relative and rule.max_absolute is None and _is_trifling(delta):
        return Status.INCONCLUSIVE, f"{found}; {text.missing_part(delta)}", False
    if is_exact(delta.metric):
        return status, found, True
    samples = delta.samples.get("baseline", ()), delta.samples.get("new", ())
    enough = enough_runs(*samples)
    if policy.evidence == EvidenceMode.LIMITS or (policy.evidence == EvidenceMode.AUTO and not enough):
        return status, found, False
    if not enough:
        have = [len(known(values)) for values in samples]
        return (
            Status.INCONCLUSIVE,
            f"{found}; {RUNS_NEEDED} runs per side are needed to decide, found {have[0]} and {have[1]}",
            False,
        )
    if better and overlap(*samples):
        return Status.PASS, found, False
    if worse and overlap(*samples):
        return Status.INCONCLUSIVE, f"{found}; the runs of the two sides overlap: more runs are needed to decide", False
    return status, found, status != Status.PASS


def _is_trifling(delta: Delta) -> bool:
    """Whether the baseline is 0, or no larger than the spread of its own runs."""
    runs = known(delta.samples.get("baseline", ()))
    return abs(delta.baseline or 0.0) <= (max(runs) - min(runs) if runs else 0.0)


def _worsening(delta: Delta) -> float:
    """The change for the worse, in the metric's unit. The absolute change where no direction is better."""
    change = (delta.new or 0.0) - (delta.baseline or 0.0)
    if delta.polarity == Polarity.NEUTRAL:
        return abs(change)
    return -change if delta.polarity == Polarity.HIGHER else change


def _is_beyond(rule: Rule, delta: Delta, change: float) -> bool:
    """Whether a change exceeds every limit that the rule sets."""
    limits = []
    if rule.max_relative is not None:
        limits.append(rule.max_relative * abs(delta.baseline or 0.0))
    if rule.max_absolute is not None:
        limits.append(units.converted(rule.max_absolute, rule.absolute_unit, delta.unit))
    return change > 0 and all(change > limit * (1 + _ROUNDING) for limit in limits)


def _beyond_value(rule: Rule, value: float) -> bool:
    below = rule.min_value is not None and value < rule.min_value
    return below or (rule.max_value is not None and value > rule.max_value)
