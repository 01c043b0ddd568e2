"""A gate's verdicts as CI systems show them: what each one does to the job, in safe texts, with a stable fingerprint.

Shared by the renderers of JUnit, SARIF, GitLab code quality, annotations and comments on pull requests. At least one
check fails if and only if the gate does.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rlcompare.errors import ExitCode
from rlcompare.language import tr
from rlcompare.model.verdict import GateResult, Policy, Verdict
from rlcompare.model.words import OnInconclusive, RuleSeverity, Status, Word
from rlcompare.report.findings import MESSAGE_LIMIT
from rlcompare.report.gate_view import UNVERIFIED, shown_as_verified, status_word
from rlcompare.report.sentences import datum, said
from rlcompare.repository import root_of
from rlcompare.text import safe_text

POLICY_FILE = "rlcompare.toml"
_WHOLE = "gate"


class Outcome(Word):
    """What a verdict does to a CI job."""

    PASSED = "passed"
    OPEN = "open"
    """Not decided, and the policy lets that pass."""
    WARNED = "warned"
    """Failed a rule that only warns."""
    FAILED = "failed"
    """Regressed or unhealthy."""
    MISSING = "missing"
    """There was no value to judge. Fails the gate."""
    UNDECIDED = "undecided"
    """Not decided, or not comparable. Fails the gate."""


FAILING = (Outcome.FAILED, Outcome.MISSING, Outcome.UNDECIDED)
"""Outcomes that fail the gate."""


@dataclass(frozen=True)
class Check:
    """A verdict as a CI system shows it.

    Attributes:
        name: the metric; with a number if several rules judge it.
        rule: the metric or pattern of the rule.
        text: what was expected and found, and all values; then ``unverified`` and the rule's message.
        fingerprint: the same for the same problem in other runs of the job.
        warns: whether the rule only warns, and was not met.
    """

    outcome: Outcome
    status: str
    name: str
    rule: str
    text: str
    fingerprint: str
    warns: bool = False

    @property
    def fails(self) -> bool:
        """Whether it fails the gate."""
        return self.outcome in FAILING

    @property
    def title(self) -> str:
        """``time.step: regressed``, with ``(warning)`` if the rule only warns."""
        return f"{self.name}: {self.status_text}"

    @property
    def status_text(self) -> str:
        """``regressed``, with ``(warning)`` if the rule only warns."""
        return tr("{status} (warning)", status=self.word) if self.warns else self.word

    @property
    def word(self) -> str:
        """The status for a reader."""
        return status_word(self.status)


def checks_of(gate: GateResult) -> tuple[Check, ...]:
    """One check per verdict, in their order; and one for the gate as a whole if it fails, or judges, without any."""
    found = tuple(_checks(gate))
    failed = gate.exit_code != ExitCode.OK
    if found and failed == any(check.fails for check in found):
        return found
    status = "not comparable" if gate.exit_code == ExitCode.NOT_COMPARABLE else "inconclusive"
    outcome = Outcome.UNDECIDED if failed else Outcome.OPEN
    whole = Check(
        outcome, status, _WHOLE, _WHOLE, safe_text(said(gate.summary), MESSAGE_LIMIT), _fingerprint(_WHOLE, status)
    )
    return (whole, *found)


def counts_of(checks: tuple[Check, ...]) -> str:
    """``1 regressed, 2 missing``: the statuses of checks with their number."""
    counts = Counter(check.word for check in checks)
    return tr(", ").join(tr("{n} {status}", n=number, status=status) for status, number in counts.items())


def place_of(policy: Policy) -> str:
    """The policy's file relative to the root of its repository: CI systems show a problem at a place in a file."""
    path = Path(policy.source).absolute()
    if not path.is_file():  # built-in rules
        return POLICY_FILE
    return path.relative_to(root_of(path.parent)).as_posix()


def source_of(policy: Policy) -> str:
    """Where the rules come from, without the folders of this machine."""
    return place_of(policy) if Path(policy.source).is_file() else safe_text(datum(policy.source))


def _checks(gate: GateResult) -> Iterator[Check]:
    shared = Counter(verdict.metric for verdict in gate.verdicts)
    seen: Counter[str] = Counter()
    for verdict in gate.verdicts:
        seen[verdict.metric] += 1
        number = seen[verdict.metric]
        name = safe_text(verdict.metric)
        text = safe_text(said(verdict.text), MESSAGE_LIMIT)
        text += "" if shown_as_verified(verdict) else f" [{tr(UNVERIFIED)}]"
        message = safe_text(verdict.rule.message, MESSAGE_LIMIT)
        yield Check(
            outcome=_outcome(verdict, gate),
            status=verdict.status.replace("_", " "),
            name=tr("{metric} (rule {n})", metric=name, n=number) if shared[verdict.metric] > 1 else name,
            rule=safe_text(verdict.rule.metric),
            text=f"{text} · {message}" if message else text,
            fingerprint=_fingerprint(verdict.rule.metric, verdict.metric, verdict.status, str(number)),
            warns=verdict.rule.severity != RuleSeverity.ERROR and _outcome(verdict, gate) != Outcome.PASSED,
        )


def _outcome(verdict: Verdict, gate: GateResult) -> Outcome:
    if verdict.status in (Status.PASS, Status.IMPROVED):
        return Outcome.PASSED
    warns = verdict.rule.severity != RuleSeverity.ERROR
    if verdict.status in (Status.INCONCLUSIVE, Status.NOT_COMPARABLE):
        lets_pass = gate.policy.on_inconclusive != OnInconclusive.FAIL and gate.exit_code != ExitCode.NOT_COMPARABLE
        return Outcome.OPEN if warns or lets_pass else Outcome.UNDECIDED
    if warns:
        return Outcome.WARNED
    return Outcome.MISSING if verdict.status == Status.MISSING else Outcome.FAILED


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
