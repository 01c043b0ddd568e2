"""The outcome of a gate in one line, in numbers, and why its exit code is what it is.

Rules and verdicts are counted apart: a rule with a glob gives a verdict for each metric, and fails if one of them does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rlcompare.errors import ExitCode
from rlcompare.gate.matching import matched
from rlcompare.gate.work import work_text
from rlcompare.model.diff import DAMAGED_FILE, Diff, Finding
from rlcompare.model.verdict import HEADLINE, GateResult, Policy, Rule, Verdict
from rlcompare.model.words import OnInconclusive, RuleSeverity, Status

FAILED = (Status.REGRESSED, Status.MISSING, Status.UNHEALTHY)
"""Statuses that fail a rule."""

OPEN = (Status.INCONCLUSIVE, Status.NOT_COMPARABLE)
"""Statuses without a decision; ``on_inconclusive`` sets how they are treated."""


def skipped_rules(rules: Iterable[Rule], verdicts: Sequence[Verdict], diff: Diff, policy: Policy) -> tuple[str, ...]:
    """The metrics of optional rules that had nothing to judge."""
    judged = {verdict.rule for verdict in verdicts}
    unused = (rule for rule in rules if rule not in judged and not matched(rule, diff, policy.rules).left)
    return tuple(dict.fromkeys(rule.metric for rule in unused))


def summary_of(
    verdicts: Sequence[Verdict],
    diff: Diff,
    policy: Policy,
    barred: Sequence[Finding],
    skipped: Sequence[str] = (),
) -> str:
    """One line for people: what failed, what is open, what only warns.

    Args:
        skipped: see ``skipped_rules``.
    """
    if barred:
        keys = ", ".join(dict.fromkeys(finding.key for finding in barred))
        advice = f"Declare it with --varied {keys.replace(', ', ',')}"
        if any(finding.key == DAMAGED_FILE for finding in diff.quality):
            advice = "A file is damaged: copy it again or export it again"
        return f"The sides must not be compared: {keys} differs. {advice}."
    failed = _with(verdicts, FAILED, RuleSeverity.ERROR)
    warned = _with(verdicts, FAILED, RuleSeverity.WARN)
    undecided, unwarned = (_with(verdicts, OPEN, severity) for severity in (RuleSeverity.ERROR, RuleSeverity.WARN))
    parts = []
    if failed:
        parts.append(f"{_rules(failed)} of {_extent(verdicts, 'failed')}: {_by_status(failed)}.")
    elif not verdicts:
        parts.append(_nothing(policy))
    elif undecided and policy.on_inconclusive == OnInconclusive.FAIL:
        parts.append(f"The evidence is inconclusive ({_extent(verdicts)}).")
    else:
        parts.append(f"Nothing failed ({_extent(verdicts)}).")
    for found, of_rules in ((undecided, ""), (unwarned, ", of rules that only warn")):
        if found:
            words = " or ".join(dict.fromkeys(verdict.status.replace("_", " ") for verdict in found))
            parts.append(f"{len(found)} {words}{of_rules}: {_names(found)}.")
    if undecided and policy.on_inconclusive != OnInconclusive.FAIL:
        parts.append(f'Inconclusive verdicts do not fail, by the policy: on_inconclusive = "{policy.on_inconclusive}".')
    if HEADLINE in skipped:
        parts.append("The step was not judged: neither side has a step time.")
    if warned:
        parts.append(f"{_count(len(warned), 'warning')}: {_by_status(warned)}.")
    if any(verdict.unit in ("ms", "s") for verdict in (*failed, *warned, *undecided, *unwarned)):
        parts.append(work_text(diff))
    return " ".join(filter(None, parts))


def _nothing(policy: Policy) -> str:
    """Why there is no verdict, which only a policy can say."""
    if any(rule.expires and rule.severity == RuleSeverity.OFF for rule in policy.rules):
        return "Nothing was judged: exceptions turn off what the rules judge."
    return "No metric was judged: the policy has rules for signs of unstable training only, and there is no such sign."


def reasons(result: GateResult) -> tuple[Status, ...]:
    """The statuses that lead to the exit code, the worst first; empty if it is 0."""
    if result.exit_code == ExitCode.NOT_COMPARABLE:
        return (Status.NOT_COMPARABLE,)
    among = {ExitCode.REGRESSION: FAILED, ExitCode.INCONCLUSIVE: OPEN}.get(ExitCode(result.exit_code), ())
    found = {verdict.status for verdict in _with(result.verdicts, among, RuleSeverity.ERROR)}
    return tuple(status for status in among if status in found)


def counts(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """How many rules were judged, failed or warned, and how many verdicts have each status."""
    return {
        "rules": _rules(verdicts),
        "rules_failed": _rules(_with(verdicts, FAILED, RuleSeverity.ERROR)),
        "rules_warned": _rules(_with(verdicts, FAILED, RuleSeverity.WARN)),
        "rules_open": _rules([verdict for verdict in verdicts if verdict.status in OPEN]),
        "verdicts": dict(sorted(Counter(str(verdict.status) for verdict in verdicts).items())),
    }


def _with(verdicts: Iterable[Verdict], statuses: Sequence[Status], severity: RuleSeverity) -> list[Verdict]:
    return [one for one in verdicts if one.status in statuses and one.rule.severity == severity]


def _rules(verdicts: Sequence[Verdict]) -> int:
    return len({verdict.rule for verdict in verdicts})


def _extent(verdicts: Sequence[Verdict], word: str = "") -> str:
    """``5 rules``; ``5 rules, 7 verdicts`` where these are more. With a word: ``5 rules failed (7 verdicts)``."""
    rules, several = _rules(verdicts), _count(len(verdicts), "verdict")
    text = f"{_count(rules, 'rule')} {word}".strip()
    if rules == len(verdicts):
        return text
    return f"{text} ({several})" if word else f"{text}, {several}"


def _by_status(verdicts: Sequence[Verdict]) -> str:
    """``time.step, time.free regressed; ess missing``."""
    groups = ([one for one in verdicts if one.status == status] for status in FAILED)
    return "; ".join(f"{_names(group)} {group[0].status}" for group in groups if group)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _names(verdicts: Sequence[Verdict]) -> str:
    names = list(dict.fromkeys(verdict.metric for verdict in verdicts))
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
