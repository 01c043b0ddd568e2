"""The outcome of a gate in one line, and which statuses fail a rule or leave it open."""

from __future__ import annotations

from collections.abc import Sequence

from rlcompare.gate.work import work_text
from rlcompare.model.diff import Diff, Finding
from rlcompare.model.verdict import HEADLINE, Policy, Verdict
from rlcompare.model.words import OnInconclusive, RuleSeverity, Status

FAILED = (Status.REGRESSED, Status.MISSING, Status.UNHEALTHY)
"""Statuses that fail a rule."""

OPEN = (Status.INCONCLUSIVE, Status.NOT_COMPARABLE)
"""Statuses without a decision; ``on_inconclusive`` sets how they are treated."""


def summary_of(verdicts: Sequence[Verdict], diff: Diff, policy: Policy, barred: Sequence[Finding]) -> str:
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
