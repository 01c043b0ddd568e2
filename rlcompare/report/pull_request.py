"""``pull-request.md``: a comment on a pull request, and GitHub's summary of a step.

Its title is the gate's verdict. Then come the answer, the first causes, and the rules that failed, warned or were not
decided; the rest is folded. Names are escaped as in ``report.markdown``. It stays below ``LIMIT``. It has no picture: a
comment cannot show a file of the job.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rlcompare.errors import ExitCode
from rlcompare.language import tr
from rlcompare.model.verdict import GateResult
from rlcompare.model.words import Status
from rlcompare.report.checks import Check, Outcome, checks_of, counts_of, source_of
from rlcompare.report.gate_view import UNVERIFIED
from rlcompare.report.markdown import answer, causes, code, finding_line, prose, summary_table
from rlcompare.report.view import ReportView

LIMIT = 60_000
"""Bytes of UTF-8. GitHub refuses comments of more than 65,536 characters."""

_TABLE_LIMIT = LIMIT // 2
_ICONS = {Outcome.PASSED: "🟢", Outcome.OPEN: "🟡", Outcome.WARNED: "🟡", Outcome.UNDECIDED: "🟡"}
_FAILED = "🔴"


def render_pull_request(view: ReportView, gate: GateResult) -> str:
    """The comment for a view and the result of its gate."""
    checks = checks_of(gate)
    text = _block(_head(view, gate, checks))
    end = _block([_end(view, gate)])
    for block in _folded(view, checks):
        if _size(text) + _size(block) + _size(end) <= LIMIT:
            text += block
    return text + end


def title_of(gate: GateResult, checks: Sequence[Check]) -> str:
    """The verdict: ``failed (1 regressed, 1 missing)``."""
    if gate.exit_code == ExitCode.NOT_COMPARABLE:
        return tr("not comparable")
    failing = counts_of(tuple(check for check in checks if check.fails))
    if gate.exit_code != ExitCode.OK:
        return f"{tr('not decided') if gate.exit_code == ExitCode.INCONCLUSIVE else tr('failed')} ({failing})"
    counts = {
        tr("warned"): sum(check.outcome == Outcome.WARNED for check in checks),
        tr("not decided"): sum(check.outcome == Outcome.OPEN for check in checks),
        tr("improved"): sum(check.status == Status.IMPROVED for check in checks),
    }
    notes = tr(", ").join(tr("{n} {status}", n=number, status=what) for what, number in counts.items() if number)
    return f"{tr('passed')} ({notes})" if notes else tr("passed")


def _icon(gate: GateResult, checks: Sequence[Check]) -> str:
    if gate.exit_code == ExitCode.INCONCLUSIVE:
        return _ICONS[Outcome.UNDECIDED]
    if gate.exit_code != ExitCode.OK:
        return _FAILED
    is_clean = all(check.outcome == Outcome.PASSED for check in checks)
    return _ICONS[Outcome.PASSED if is_clean else Outcome.OPEN]


def _head(view: ReportView, gate: GateResult, checks: Sequence[Check]) -> Iterator[str]:
    yield f"### {_icon(gate, checks)} rlcompare: {title_of(gate, checks)}"
    yield ""
    yield f"{prose(view.title)}: {answer(view)}"
    yield ""
    yield _headline(view)
    yield ""
    if view.gate and view.gate.status_tone:
        yield f"> **{prose(view.gate.status)}**"
        yield ""
    yield from causes(view)
    yield from _table([check for check in checks if check.outcome != Outcome.PASSED])
    if view.gate and view.gate.notes:
        yield from (f"- {tr('policy: {text}', text=prose(note))}" for note in view.gate.notes)
        yield ""


def _headline(view: ReportView) -> str:
    head = view.headline
    if head.absent:
        return prose(head.absent)
    return f"{code(head.metric)} {prose(f'{head.baseline} → {head.new}')} (**{prose(head.change)}**)"


def _table(checks: Sequence[Check]) -> Iterator[str]:
    """The checks as rows, failing ones first, until the table is full."""
    if not checks:
        return
    yield f"| | {tr('metric')} | {tr('expected and found')} |"
    yield "|---|---|---|"
    rows = [_row(check) for check in sorted(checks, key=lambda check: not check.fails)]
    used = 0
    for number, row in enumerate(rows):
        used += _size(row)
        if used > _TABLE_LIMIT:
            yield f"| | | {tr('{n} more in report.html', n=len(rows) - number)} |"
            break
        yield row
    yield ""


def _row(check: Check) -> str:
    icon = _ICONS.get(check.outcome, _FAILED)
    return f"| {icon} {prose(check.status_text)} | {code(check.name)} | {prose(check.text)} |"


def _folded(view: ReportView, checks: Sequence[Check]) -> Iterator[str]:
    passed = tuple(check for check in checks if check.outcome == Outcome.PASSED)
    if passed:
        yield _details(tr("Passed: {counts}", counts=counts_of(passed)), list(_table(passed))[:-1])
    yield _details(tr("Summary"), summary_table(view))
    for title, findings in ((tr("What differs"), view.comparability), (tr("Data quality"), view.quality)):
        if findings:
            yield _details(f"{title} ({len(findings)})", map(finding_line, findings[:20]))
    if view.events:
        yield _details(
            f"{tr('Within the runs')} ({len(view.events)})", (f"- {prose(event.text)}" for event in view.events)
        )


def _details(title: str, lines: Iterable[str]) -> str:
    return _block([f"<details><summary>{prose(title)}</summary>", "", *lines, "", "</details>", ""])


def _end(view: ReportView, gate: GateResult) -> str:
    rules = code(source_of(gate.policy))
    code_ = tr("exit code {n}", n=int(gate.exit_code))
    parts = [f"rlcompare {prose(view.version)}", tr("policy {rules}", rules=rules), code_]
    if view.gate and view.gate.unverified:
        parts.append(f"{tr(UNVERIFIED)}: {prose(view.gate.unverified)}")
    return f"<sub>{' · '.join(parts)}</sub>"


def _block(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
