"""One verdict: a rule applied to a metric. Changes are decided by ``decision``, at equal work (``work``)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median

from rlcompare.compare.aggregates import is_measure
from rlcompare.compare.estimate import Spread
from rlcompare.compare.names import FOLLOW_STEP, is_exact, is_workload
from rlcompare.compare.replicates import counted
from rlcompare.compare.runs import known
from rlcompare.gate import text, units
from rlcompare.gate.decision import Decision, Limits, decide
from rlcompare.gate.sequential import Odds
from rlcompare.gate.work import EqualWork, at_equal_work, is_of_profile
from rlcompare.model.diff import NOT_COMPARED, Delta, Diff, Samples
from rlcompare.model.verdict import Policy, Rule, Verdict
from rlcompare.model.words import SIDES, EvidenceMode, Polarity, Status

_MEANS_APART = 0.01
_MEANS_APART_OF_CHANGE = 0.1
"""The change of the means is shown too if it differs by more than this, and by more than this part of itself."""


@dataclass(frozen=True)
class Case:
    """A rule and a metric that it applies to.

    Attributes:
        rule: what is judged of it.
        stated: the rule as the policy states it, after which verdicts are named.
        spread: how much runs differ, where there are too few to tell; None: nothing is assumed.
        comparable: whether nothing severe differs between the sides.
    """

    rule: Rule
    stated: Rule
    delta: Delta
    diff: Diff
    policy: Policy
    spread: Spread | None
    comparable: bool

    @property
    def limits_change(self) -> bool:
        """Whether the rule limits a change, and not only the new value."""
        return self.rule.max_relative is not None or self.rule.max_absolute is not None

    @cached_property
    def work(self) -> EqualWork | None:
        """The values at equal work, if the work differs."""
        return at_equal_work(self.delta, self.diff)

    @property
    def is_uncertain(self) -> bool:
        """Whether the runs decide, so that each such case adds to the odds of a false alarm."""
        return self._settled is None and self.policy.evidence != EvidenceMode.LIMITS and not self._is_exact

    @property
    def _is_exact(self) -> bool:
        """Whether chance has no part in it: work that it does not decide, or of which a rule allows no change."""
        of_work = is_workload(self.delta.metric) and not (self.rule.max_relative or self.rule.max_absolute)
        return is_exact(self.delta.metric) or of_work

    def verdict(self, odds: Odds) -> Verdict:
        """The verdict, with these probabilities of being wrong."""
        status, said, verified = self._settled or self._judged(odds)
        if status in (Status.PASS, Status.IMPROVED) and self._lacking:
            status, said, verified = Status.INCONCLUSIVE, f"{said}; {self._lacking}", False
        delta = self.delta
        return Verdict(self.stated, delta.metric, status, said, delta.baseline, delta.new, delta.unit, verified)

    @cached_property
    def _settled(self) -> tuple[Status, str, bool] | None:
        """Status, text and whether it is verified, if that does not depend on how runs differ."""
        rule, delta = self.rule, self.delta
        expected, values = self._expected, text.values(delta)
        if self._is_phase_gone:
            return (
                Status.MISSING,
                f"{expected}, found no such phase on the new side{text.values(delta, absent='none')}",
                True,
            )
        if delta.new is None or not math.isfinite(delta.new):
            return Status.MISSING, f"{expected}, found no value on the new side{values}", True
        new = _typical(delta.samples.get("new", ()), delta.new)
        beyond = _is_beyond_value(rule, new)
        if (beyond and self.comparable) or not self.limits_change:
            status = Status.REGRESSED if beyond else Status.PASS
            return status, f"{expected}, found {text.quantity(new, delta.unit)}{values}", True
        if delta.baseline is None or not math.isfinite(delta.baseline):
            return Status.MISSING, f"{expected}, found no value on the baseline{values}", True
        if NOT_COMPARED in delta.evidence:
            reason = f"verl changed what it means ({delta.evidence[NOT_COMPARED]})"
            return Status.NOT_COMPARABLE, f"{expected}, found values that cannot be compared{values}: {reason}", False
        if not self.comparable:
            found = f"{expected}, found {text.change(delta)}{values}"
            return Status.NOT_COMPARABLE, f"{found}; the sides must not be compared", False
        return None

    @property
    def _lacking(self) -> str:
        """A clause, if half of the new runs or more logged no number for the metric: those may be the bad ones.

        What a profile measures, few runs have by intent. A measure (``@p95``) also needs enough steps: its base tells.
        """
        base, _, measure = self.delta.metric.rpartition("@")
        logged = (self.diff.metric(base) if is_measure(measure) else None) or self.delta
        samples = logged.samples.get("new", ())
        runs = [samples[number] for number in counted(self.diff, "new") if number < len(samples)] or samples
        have = len(known(runs))
        if not have or 2 * have > len(runs) or is_of_profile(logged.metric):
            return ""
        return f"only {have} of {len(runs)} runs of the new side {'has' if have == 1 else 'have'} a value"

    @property
    def _is_phase_gone(self) -> bool:
        """Whether it is a phase that the new side does not have, which knows what lies outside of its phases."""
        _, _, part = self.delta.metric.rpartition(".")
        outside = self.diff.metric(f"phase.(outside).{part}") if self.delta.metric.startswith("phase.") else None
        return self.delta.new is None and outside is not None and outside.new is not None

    @property
    def _expected(self) -> str:
        return f"expected {text.expected(self.rule, self.delta)}"

    def _judged(self, odds: Odds) -> tuple[Status, str, bool]:
        delta = self.delta
        decision, reason = self._at_equal_work(odds)
        only_relative = self.rule.max_relative and self.rule.max_absolute is None
        by_runs = decision.relative and decision.measured  # one slow run of the baseline does not matter then
        if only_relative and not by_runs and _is_trifling(delta) and _is_worse(delta):
            found = f"{self._expected}, found {text.change(delta)}{text.values(delta)}"
            return Status.INCONCLUSIVE, f"{found}; {text.missing_part(delta)}", False
        certain = self._is_exact
        by_limits = self.policy.evidence == EvidenceMode.LIMITS
        notes = [self.work.note if self.work else ""]
        if not (certain or by_limits):
            notes.append(text.interval(decision, delta))
            if notes[-1] and odds.shared > 1 and delta.metric == self.diff.headline:  # else that of a diff's answer
                notes[-1] += f", with the false-alarm rate shared by {odds.shared} metrics"
        at_work = f" {self.work.text}" if self.work else ""
        of_means = self._of_means(decision)
        if of_means:
            notes.insert(0, f"the means: {of_means}{at_work}")
            at_work += ", the median of all pairs of runs"
        values = text.values(delta, "; ".join(filter(None, notes)))
        found = f"{self._expected}, found {self._change(decision)}{at_work}{values}"
        if decision.status == Status.INCONCLUSIVE:
            found += f"; {reason or text.runs_needed(decision)}"
        return decision.status, found, certain or (decision.measured and not by_limits)

    def of_runs(self, odds: Odds) -> Decision:
        """The decision by the values of the runs alone, at equal work if the work differs."""
        return self._decision(self.work.samples if self.work else self.delta.samples, odds)

    def _at_equal_work(self, odds: Odds) -> tuple[Decision, str]:
        """The decision, and why it is open if that is not the number of runs alone."""
        work, found = self.work, self.of_runs(odds)
        if work is None or work.known:
            return found, ""
        plain = self._decision(self.delta.samples, odds)
        if work.growth > 1:
            only_per_token = found.status == Status.IMPROVED and plain.status != Status.IMPROVED
            return (replace(found, status=Status.PASS) if only_per_token else found), ""
        if plain.status == Status.REGRESSED:
            return replace(found, status=Status.REGRESSED), ""
        if found.status in (Status.PASS, Status.IMPROVED):
            return found, ""
        reason = ""  # the change at equal work lies between both
        if plain.beyond:
            reason = f"the time itself, {text.estimated(plain, self.delta)}, is not decided: {text.runs_needed(plain)}"
        elif found.beyond:
            reason = "there is less work, and it is unknown how much of the time depends on it"
        return replace(found, status=Status.INCONCLUSIVE, measured=False), reason

    def _of_means(self, decision: Decision) -> str:
        """The change of the means, which are the values shown, if it clearly differs from the decision's."""
        judged = self.work.samples if self.work else self.delta.samples
        baseline, new = (known(judged.get(side, ())) for side in SIDES)
        if not decision.relative or not baseline or not new or not _mean(baseline) > 0:
            return ""
        change = _mean(new) / _mean(baseline) - 1
        apart = abs(change - decision.interval.change)
        return text.percent(change) if apart > max(_MEANS_APART, abs(change) * _MEANS_APART_OF_CHANGE) else ""

    def _change(self, decision: Decision) -> str:
        if self.work is None and max(len(known(self.delta.samples.get(side, ()))) for side in SIDES) < 2:
            return text.change(self.delta, self.rule.max_relative)
        return text.estimated(decision, self.delta, self.rule.max_relative)

    def _decision(self, samples: Samples, odds: Odds) -> Decision:
        rule, delta = self.rule, self.delta
        absolute = None
        if rule.max_absolute is not None:
            absolute = units.converted(rule.max_absolute, rule.absolute_unit, delta.unit)
        limits = Limits(rule.max_relative, absolute)
        baseline, new = (_values(samples.get(side, ()), delta.value(side)) for side in SIDES)
        spread = self.spread
        if self._is_exact or self.policy.evidence == EvidenceMode.LIMITS:
            baseline, new, spread = [_mean(baseline)], [_mean(new)], Spread(0.0)
        return decide(baseline, new, delta.polarity, limits, spread, false_alarm=odds.false_alarm, miss=odds.miss)


def in_families(cases: Sequence[Case], odds: Odds) -> list[Verdict]:
    """The verdicts of all cases.

    The first one is decided by itself, and if it is the time of the step, so is what follows from that: it moves by the
    same luck. The others share the odds of a false alarm, errors and warnings apart, by Holm's step-down procedure:
    what fails at the odds that remain leaves more to the rest.
    """
    uncertain = [number for number, case in enumerate(cases) if case.is_uncertain]
    step, *following = FOLLOW_STEP
    by_step = bool(uncertain) and cases[uncertain[0]].delta.metric == step
    same = [number for number in uncertain[1:] if by_step and cases[number].delta.metric in following]
    rest = [number for number in uncertain[1:] if number not in same]
    made = {number: case.verdict(odds) for number, case in enumerate(cases) if number not in rest}
    made |= {number: _no_surer(made[number], cases[number], cases[uncertain[0]], odds) for number in same}
    severities = {cases[number].rule.severity for number in rest}
    for severity in sorted(severities):
        made |= _corrected({number: cases[number] for number in rest if cases[number].rule.severity == severity}, odds)
    return [made[number] for number in range(len(cases))]


def _no_surer(verdict: Verdict, case: Case, step: Case, odds: Odds) -> Verdict:
    """The verdict on what follows from the time of the step; open if that time is not decided at the same limit.

    A change beyond the interval of that time does not follow from it: that of a rate may come from other work.
    """
    limit = case.rule.max_relative
    if limit is None or verdict.status not in (Status.REGRESSED, Status.IMPROVED):
        return verdict
    found = case.of_runs(odds)
    implied = found.interval.change  # of the time, by what follows from it
    if case.delta.polarity == Polarity.HIGHER:
        limit = limit / (1 - limit) if limit < 1 else math.inf
        implied = 1 / (1 + implied) - 1 if implied > -1 else math.inf
    time = replace(step, rule=replace(step.rule, max_relative=limit, max_absolute=None)).of_runs(odds)
    of_time = found.relative and time.relative and time.interval.low <= implied <= time.interval.high
    if time.status != Status.INCONCLUSIVE or not of_time:
        return verdict
    text = f"{verdict.text}; {step.delta.metric}, from which it follows, is not decided"
    return replace(verdict, status=Status.INCONCLUSIVE, text=text, verified=False)


def _corrected(cases: dict[int, Case], odds: Odds) -> dict[int, Verdict]:
    made: dict[int, Verdict] = {}
    left = dict(cases)
    while left:
        shared = replace(odds, false_alarm=odds.false_alarm / len(left), shared=len(left))
        found = {number: case.verdict(shared) for number, case in left.items()}
        failed = {number: verdict for number, verdict in found.items() if verdict.status == Status.REGRESSED}
        made |= failed or found
        left = {number: case for number, case in left.items() if number not in made}
    return made


def _values(samples: Iterable[float | None], whole: float | None) -> list[float]:
    return known(list(samples)) or [whole or 0.0]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _typical(samples: Sequence[float | None], mean: float) -> float:
    """The median of the runs: one odd run of several is not the side."""
    runs = known(samples)
    return median(runs) if len(runs) > 2 else mean


def _is_trifling(delta: Delta) -> bool:
    """Whether the baseline is 0, or no larger than the spread of its own runs."""
    runs = known(delta.samples.get("baseline", ()))
    return abs(delta.baseline or 0.0) <= (max(runs) - min(runs) if runs else 0.0)


def _is_worse(delta: Delta) -> bool:
    change = (delta.new or 0.0) - (delta.baseline or 0.0)
    if delta.polarity == Polarity.NEUTRAL:
        return change != 0
    return change < 0 if delta.polarity == Polarity.HIGHER else change > 0


def _is_beyond_value(rule: Rule, value: float) -> bool:
    below = rule.min_value is not None and value < rule.min_value
    return below or (rule.max_value is not None and value > rule.max_value)
