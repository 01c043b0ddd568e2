"""A gate's result as text for a log, and as a JSON document.

First come comparability, differences, and warnings about the data. Then one line per failing rule, with the expected
limits, the change found and all values (the verdict's own text, made by the gate). Rules that passed share one line.
A verdict without run-level evidence is marked ``unverified``, which the last line explains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, TextIO

from rlcompare.language import listed, mark, tr, with_label
from rlcompare.model.diff import Diff
from rlcompare.model.verdict import GateResult
from rlcompare.model.words import RuleSeverity, Severity
from rlcompare.report.findings import FindingView, is_serious
from rlcompare.report.gate_view import (
    UNVERIFIED,
    GateView,
    VerdictView,
    gate_findings,
    gate_status,
    gate_view,
    severity_word,
    status_word,
)
from rlcompare.report.output import Line, print_lines
from rlcompare.text import pad

SCHEMA = "rlcompare.gate/1"

_STATUS_WIDTH = 16

_OUTCOMES = {"pass": mark("within limits")}
"""Other words for statuses in the line that counts what passed."""


def print_gate(result: GateResult, stream: TextIO, diff: Diff | None = None) -> None:
    """Writes the lines, coloured if ``stream`` is a terminal. Lines are not wrapped, so that a log can be searched.

    Args:
        diff: the diff that was judged; without it, comparability is not shown.
    """
    print_lines(_lines(gate_view(result, diff)), stream)


def gate_document(result: GateResult, diff: Diff | None = None) -> dict[str, Any]:
    """The result as JSON: schema, exit_code, why it is that, summary, counts of rules and verdicts, metrics of skipped
    rules, policy, and one member of verdicts per rule and metric.

    With a diff it also holds comparability (status, and findings of severity caution or worse; ``declared`` are those
    that the policy allows) and quality (warnings about the data).
    """
    from rlcompare.gate.summary import counts, reasons

    return {
        "schema": SCHEMA,
        "exit_code": result.exit_code,
        "reasons": list(reasons(result)),
        "summary": result.summary,
        "counts": counts(result.verdicts),
        "skipped": list(result.skipped),
        "policy": {
            "source": result.policy.source,
            "evidence": result.policy.evidence,
            "on_inconclusive": result.policy.on_inconclusive,
            "varied": list(result.policy.varied),
            "noise": result.policy.noise,
            "notes": list(result.policy.notes),
        },
        **({} if diff is None else _context(result, diff)),
        "verdicts": [asdict(verdict) for verdict in result.verdicts],
    }


def _context(result: GateResult, diff: Diff) -> dict[str, Any]:
    judged = gate_findings(diff, result)
    return {
        "comparability": {"status": gate_status(judged), "findings": [asdict(finding) for finding in judged]},
        "quality": [asdict(finding) for finding in diff.quality if is_serious(finding)],
    }


def _lines(gate: GateView) -> Iterator[Line]:
    if gate.status:
        yield _entry(tr("sides"), gate.status, gate.status_tone)
        yield from map(_finding, gate.findings)
    if gate.steps:
        yield _entry(tr("steps"), gate.steps)
    if gate.quality:
        yield _entry(tr("data quality"), gate.quality, "caution")
    failing = [verdict for verdict in gate.verdicts if verdict.failing]
    yield from map(_verdict, failing)
    counts = Counter(verdict.status for verdict in gate.verdicts if not verdict.failing)
    if counts:
        words = {status: tr(_OUTCOMES[status]) if status in _OUTCOMES else status_word(status) for status in counts}
        shown = (tr("{n} {what}", n=count, what=words[status]) for status, count in sorted(counts.items()))
        yield _entry(tr("passed"), listed(shown))
    if gate.skipped:
        yield _entry(tr("skipped"), tr("{metrics}: nothing to judge", metrics=listed(gate.skipped)))
    yield from (_entry(tr("policy"), note, "caution") for note in gate.notes)
    why = tr(": {reasons}", reasons=gate.reasons) if gate.reasons else ""
    how = {"policy": gate.policy, "n": int(gate.exit_code), "why": why}
    yield _entry(tr("gate"), f"{gate.summary} {tr('(policy: {policy}, exit code {n}{why})', **how)}")
    if gate.unverified:
        yield _entry(f"[{tr(UNVERIFIED)}]", gate.unverified, "noise")


def _entry(label: str, text: str, tone: str = "") -> Line:
    return Line(f"{pad(label, _STATUS_WIDTH)}{text}", ((0, len(label), tone),) if tone else ())


def _finding(finding: FindingView) -> Line:
    # Declared differences are not warnings. Values that the message contains are not repeated.
    said = [] if finding.severity == Severity.DECLARED else [finding.message]
    if not said or not all(side in finding.message for side in finding.sides.split(" → ")):
        said.insert(0, finding.sides)
    text = ". ".join(said)
    return _entry(finding.word, text if text.startswith(finding.key) else with_label(finding.key, text), finding.tone)


def _verdict(verdict: VerdictView) -> Line:
    text = " ".join([with_label(verdict.metric, verdict.text), *(f"[{note}]" for note in _notes(verdict))])
    message = f" · {verdict.message}" if verdict.message else ""
    return _entry(status_word(verdict.status), text + message, verdict.tone)


def _notes(verdict: VerdictView) -> list[str]:
    notes = [] if verdict.severity == RuleSeverity.ERROR else [severity_word(verdict.severity)]
    return notes if verdict.verified else [*notes, tr(UNVERIFIED)]
