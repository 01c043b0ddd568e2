"""A gate's result as text for a log, and as a JSON document.

One line per failing rule, which says what was expected, what was found and all values (the verdict's own text, made by
the gate); what passed takes one line. A verdict without run-level evidence is marked ``unverified``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, TextIO

from rlcompare.model.verdict import GateResult
from rlcompare.report.output import Line, print_lines
from rlcompare.report.view import GateView, VerdictView, gate_view

SCHEMA = "rlcompare.gate/1"

_STATUS_WIDTH = 14


def gate_lines(result: GateResult) -> list[str]:
    """The lines of a result; they are as long as what they say, so that a log can be searched."""
    return [line.text for line in _lines(gate_view(result))]


def print_gate(result: GateResult, stream: TextIO) -> None:
    """Writes the lines, coloured where ``stream`` is a terminal."""
    print_lines(_lines(gate_view(result)), stream)


def gate_document(result: GateResult) -> dict[str, Any]:
    """The result as JSON: schema, exit_code, summary, policy, and one member of verdicts per rule and metric."""
    return {
        "schema": SCHEMA,
        "exit_code": result.exit_code,
        "summary": result.summary,
        "policy": {
            "source": result.policy.source,
            "evidence": result.policy.evidence,
            "on_inconclusive": result.policy.on_inconclusive,
            "varied": list(result.policy.varied),
        },
        "verdicts": [asdict(verdict) for verdict in result.verdicts],
    }


def _lines(gate: GateView) -> Iterator[Line]:
    yield from (_line(verdict) for verdict in gate.verdicts if verdict.failing)
    counts = Counter(verdict.status for verdict in gate.verdicts if not verdict.failing)
    if counts:
        passed = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        yield Line(f"{'passed':<{_STATUS_WIDTH}}{passed}")
    yield Line(f"{'gate':<{_STATUS_WIDTH}}{gate.summary} (policy: {gate.policy}, exit code {gate.exit_code})")


def _line(verdict: VerdictView) -> Line:
    status = verdict.status.replace("_", " ")
    parts = [f"{verdict.metric}: {verdict.text}", *(f"[{note}]" for note in _notes(verdict)), verdict.message]
    text = f"{status:<{_STATUS_WIDTH}}" + " ".join(part for part in parts if part)
    return Line(text, ((0, len(status), verdict.tone),))


def _notes(verdict: VerdictView) -> list[str]:
    notes = [] if verdict.severity == "error" else [verdict.severity]
    return notes if verdict.verified else [*notes, "unverified"]
