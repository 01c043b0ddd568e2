"""A gate's result as plain data, shared by all renderers: its verdicts, and what must be read before them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from rlcompare.errors import ExitCode
from rlcompare.language import mark, tr
from rlcompare.model.diff import Diff, Finding
from rlcompare.model.verdict import GateResult, Verdict
from rlcompare.model.words import Comparable, EvidenceMode, RuleSeverity, Severity, Status
from rlcompare.report import findings
from rlcompare.report.findings import MESSAGE_LIMIT, FindingView
from rlcompare.report.sentences import datum, said
from rlcompare.report.status import status_of
from rlcompare.text import safe_text

_VALUES = r" \(|\uff08"
"""Where the values of a verdict begin: at a bracket, of Latin or Chinese width."""

UNVERIFIED = mark("unverified")
_FEW_RUNS = mark("too few runs to rule out chance: the verdict also relies on the spread given in its interval.")
_AS_ASKED = mark('only the limits were checked, as the policy asks (evidence = "limits"): chance was not ruled out.')
_ODD_RUN = mark("too few runs to tell a sign of unstable training from a single odd run.")
_DECIDED = (Status.IMPROVED, Status.REGRESSED, Status.UNHEALTHY)
"""Statuses for which verification matters. The others mean that nothing changed or was decided."""

FAILING = (Status.REGRESSED, Status.MISSING, Status.UNHEALTHY, Status.NOT_COMPARABLE, Status.INCONCLUSIVE)

_VERDICT_TONE = {
    Status.REGRESSED: "worse",
    Status.MISSING: "worse",
    Status.UNHEALTHY: "worse",
    Status.NOT_COMPARABLE: "worse",
    Status.INCONCLUSIVE: "caution",
    Status.IMPROVED: "better",
}


class VerdictView(NamedTuple):
    """A verdict of the gate; ``failing`` if its status is not pass or improved.

    Attributes:
        brief, rest: its text up to the values, and the values with what follows; ``rest`` may be empty.
    """

    status: str
    tone: str
    failing: bool
    severity: str
    metric: str
    text: str
    message: str
    verified: bool
    brief: str
    rest: str

    @property
    def word(self) -> str:
        """The status for a reader."""
        return status_word(self.status)

    @property
    def severity_word(self) -> str:
        """The severity of the rule for a reader."""
        return severity_word(self.severity)


class GateView(NamedTuple):
    """The result of the gate.

    Attributes:
        outcome: whether it passed, in a word or two.
        status: whether the sides may be compared; empty if the diff is unknown, as are the next three.
        findings: differences that must be shown before the verdicts, and those that the policy declares.
        quality: warnings about the data in one line.
        steps: which steps the means cover, if a side logged others; empty where ``findings`` say so.
        unverified: why some failed verdicts are marked unverified; empty if none is.
        reasons: the statuses that lead to the exit code, as ``regressed and missing``; empty if it is 0.
        notes: exceptions of the policy that end soon or have ended.
        skipped: metrics of rules that had nothing to judge.
    """

    outcome: str
    summary: str
    policy: str
    exit_code: int
    verdicts: tuple[VerdictView, ...]
    status: str = ""
    status_tone: str = ""
    findings: tuple[FindingView, ...] = ()
    quality: str = ""
    steps: str = ""
    unverified: str = ""
    reasons: str = ""
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


def gate_view(gate: GateResult, diff: Diff | None = None) -> GateView:
    """The view of a gate's result: failing verdicts first, in the order of the policy.

    Args:
        diff: the diff that was judged; with it, the view includes comparability.
    """
    verdicts = sorted(gate.verdicts, key=lambda verdict: verdict.status not in FAILING)
    shown = tuple(map(_verdict, verdicts))
    from rlcompare.gate.summary import reasons  # like comparability below: only if there is a gate

    view = GateView(
        outcome=_outcome(gate.exit_code),
        summary=safe_text(said(gate.summary), MESSAGE_LIMIT),
        policy=safe_text(datum(gate.policy.source)),
        exit_code=gate.exit_code,
        verdicts=shown,
        unverified=_unverified(shown, gate.policy.evidence),
        reasons=tr(" and ").join(status_word(status) for status in reasons(gate)),
        notes=tuple(safe_text(said(note), MESSAGE_LIMIT) for note in gate.policy.notes),
        skipped=tuple(map(safe_text, gate.skipped)),
    )
    if diff is None:
        return view
    judged = gate_findings(diff, gate)
    left, text = status_of(diff, gate_status(judged))
    warnings = [finding for finding in diff.quality if findings.is_serious(finding)]
    return view._replace(
        status=text,
        status_tone={Comparable.CAUTION: "caution", Comparable.NOT_COMPARABLE: "worse"}.get(left, ""),
        findings=findings.merged_views(judged),
        quality=_one_line(findings.quality_texts(warnings)) if warnings else "",
        steps=" ".join(
            safe_text(said(finding.message), MESSAGE_LIMIT)
            for finding in diff.comparability.findings
            if finding.key == "training_steps" and not findings.is_serious(finding)
        ),
    )


def _outcome(exit_code: int) -> str:
    open_ = {int(ExitCode.INCONCLUSIVE): tr("not decided"), int(ExitCode.NOT_COMPARABLE): tr("not comparable")}
    return tr("passed") if exit_code == ExitCode.OK else open_.get(exit_code, tr("failed"))


def status_word(status: str) -> str:
    """A verdict's status for a reader."""
    words: dict[str, str] = {
        Status.PASS: tr("pass"),
        Status.IMPROVED: tr("improved"),
        Status.REGRESSED: tr("regressed"),
        Status.INCONCLUSIVE: tr("inconclusive"),
        Status.NOT_COMPARABLE: tr("not comparable"),
        Status.MISSING: tr("missing"),
        Status.UNHEALTHY: tr("unhealthy"),
    }
    return words.get(status, status.replace("_", " "))


def severity_word(severity: str) -> str:
    """What a rule that failed does, for a reader."""
    words: dict[str, str] = {
        RuleSeverity.ERROR: tr("error"),
        RuleSeverity.WARN: tr("warn"),
        RuleSeverity.OFF: tr("off"),
    }
    return words.get(severity, severity)


def _unverified(verdicts: Sequence[VerdictView], evidence: EvidenceMode) -> str:
    """Why failing verdicts are marked as unverified."""
    marked = {verdict.status == Status.UNHEALTHY for verdict in verdicts if verdict.failing and not verdict.verified}
    of_changes = _AS_ASKED if evidence == EvidenceMode.LIMITS else _FEW_RUNS
    return " ".join(tr(text) for text, of_health in ((of_changes, False), (_ODD_RUN, True)) if of_health in marked)


def gate_findings(diff: Diff, gate: GateResult) -> tuple[Finding, ...]:
    """Differences of severity caution or worse; those that the policy declares are ``Severity.DECLARED``."""
    # Imported only if there is a gate: this needs the comparison package, which a report alone does not.
    from rlcompare.compare.comparability import is_declared

    return tuple(
        replace(finding, severity=Severity.DECLARED) if is_declared(finding.key, gate.policy.varied) else finding
        for finding in diff.comparability.findings
        if findings.is_serious(finding)
    )


def gate_status(judged: Sequence[Finding]) -> Comparable:
    """The comparability status that remains without the declared differences."""
    worst = {finding.severity for finding in judged}
    if Severity.SEVERE in worst:
        return Comparable.NOT_COMPARABLE
    return Comparable.CAUTION if worst - {Severity.DECLARED} else Comparable.COMPARABLE


def _one_line(texts: Sequence[str]) -> str:
    return tr("{first} +{n} more", first=texts[0], n=len(texts) - 1) if len(texts) > 1 else texts[0]


def _verdict(verdict: Verdict) -> VerdictView:
    text = safe_text(said(verdict.text), MESSAGE_LIMIT)
    bracket = re.search(_VALUES, text)
    brief = text[: bracket.start()] if bracket else text
    return VerdictView(
        status=verdict.status,
        tone=_VERDICT_TONE.get(verdict.status, ""),
        failing=verdict.status in FAILING,
        severity=safe_text(verdict.rule.severity, 20),
        metric=safe_text(verdict.metric),
        text=text,
        message=safe_text(verdict.rule.message, MESSAGE_LIMIT),
        verified=shown_as_verified(verdict),
        brief=brief,
        rest=text.removeprefix(brief).strip(),
    )


def shown_as_verified(verdict: Verdict) -> bool:
    """Whether a verdict needs no mark: it is verified, or says only that nothing changed or was decided."""
    return verdict.verified or verdict.status not in _DECIDED
