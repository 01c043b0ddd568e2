"""Verdicts on symptoms of unstable training (``Diff.symptoms``).

Each symptom has its own severity. A rule of the policy may replace it or turn the symptom off.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from rlcompare.model.diff import Diff, Symptom
from rlcompare.model.verdict import Policy, Rule, Verdict
from rlcompare.model.words import RuleSeverity, Status

_RUNS_NEEDED = 4
"""Runs per side from which a symptom is no matter of one odd run."""

_CERTAIN = ("health.non_finite", "health.failed", "health.ends_early")
"""Symptoms that one run proves."""


def is_health_rule(rule: Rule) -> bool:
    """Whether a rule is about symptoms."""
    return rule.metric.startswith("health.")


def health_verdicts(diff: Diff, policy: Policy) -> tuple[Verdict, ...]:
    """One verdict per symptom that the policy does not turn off."""
    many = min(len(side.runs) for side in (diff.baseline, diff.new)) >= _RUNS_NEEDED
    found = ((symptom, _rule(symptom, policy)) for symptom in diff.symptoms)
    return tuple(
        Verdict(
            rule,
            symptom.key,
            Status.UNHEALTHY,
            symptom.text,
            symptom.baseline,
            symptom.new,
            "",
            verified=many or symptom.key in _CERTAIN,
        )
        for symptom, rule in found
        if rule.severity != RuleSeverity.OFF
    )


def _rule(symptom: Symptom, policy: Policy) -> Rule:
    """The symptom's own rule, with severity and message of the policy's. The baseline's symptoms never fail a gate."""
    rules = [rule for rule in policy.rules if is_health_rule(rule) and fnmatchcase(symptom.key, rule.metric)]
    rules.sort(key=lambda rule: (rule.expires != "", rule.metric == symptom.key))  # exceptions go before the others
    own = Rule(symptom.key, severity=symptom.severity)
    if not rules:
        return own
    severity = rules[-1].severity
    if symptom.side == "baseline" and severity == RuleSeverity.ERROR:
        severity = RuleSeverity.WARN
    return Rule(symptom.key, severity=severity, message=rules[-1].message)
