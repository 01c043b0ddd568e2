"""``report.md``, sized for a pull request comment: summary, verdicts and the largest changes.

Names are shown as code. A name with anything but plain characters is written in character references, so that no
renderer takes it for Markdown, HTML, a mention or a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rlcompare import language
from rlcompare.language import mark, tr
from rlcompare.report.findings import FindingView
from rlcompare.report.gate_view import UNVERIFIED, GateView, severity_word, status_word
from rlcompare.report.tables import Table, TableRow
from rlcompare.report.view import ReportView
from rlcompare.text import safe_text

TABLE_ROWS = 5
_NAME_LIMIT = 80
_TABLES = ("phases", "kernels", "operators", "collectives", "memory", "memory_categories", "stacks")
_COLUMNS = ("baseline", "new", "delta", "ratio")
_PLAIN = re.compile(r"[A-Za-z0-9_.:;,/()+=<>· -]*")
_ACTIVE = re.compile(r"[&<>|`*\[\]\\~$!{}#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_REFERENCE = re.compile(r"[@#]|[!$%&^~](?=[\w\"'])|\bGH-(?=\d)|:(?=//)|www(?=\.)", re.IGNORECASE)
_TONES = {
    "worse": mark("🔴 worse"),
    "better": mark("🟢 better"),
    "": "",
    "noise": "",
    "caution": "🟡",
}


def render_markdown(view: ReportView) -> str:
    """The comment for a view."""
    return "\n".join(_lines(view)) + "\n"


def code(name: str) -> str:
    """A name as code, safe for any characters."""
    text = safe_text(name, _NAME_LIMIT).strip()
    if not text:
        return ""
    if _PLAIN.fullmatch(text):
        return f"`{text}`"
    return "<code>" + "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in text) + "</code>"


def prose(text: str) -> str:
    """A sentence with all markup escaped; ``@name``, ``#1``, ``!1``, ``GH-1`` and addresses do not become links.

    GitHub and GitLab look for these after they have resolved character references, so that an invisible space must
    stand in between.
    """
    marked = _REFERENCE.sub("\\g<0>\u200b", text)
    escaped = _ACTIVE.sub(lambda found: f"&#{ord(found[0])};", marked)
    return escaped.replace("\u200b", "&#8203;")


def _lines(view: ReportView) -> Iterator[str]:
    head = view.headline
    word = f" {head.word}" if head.tone == "caution" else ""
    yield f"### {prose(view.title)}: {head.change} {tr(_TONES[head.tone])}{word}".rstrip()
    yield ""
    if view.status != "comparable":
        yield f"> **{prose(view.status_text)}**"
        yield ""
    yield from _summary(view)
    if view.gate:
        yield from _gate(view.gate)
    if view.events:
        yield f"<details><summary>{tr('Within the runs')} ({len(view.events)})</summary>"
        yield ""
        yield from (f"- {prose(event.text)}" for event in view.events)
        yield ""
        yield "</details>"
        yield ""
    yield from _findings(tr("What differs"), view.comparability)
    for table in view.tables:
        if table.name in _TABLES:
            yield from _table(table)
    yield from _findings(tr("Data quality"), view.quality)
    following = tr("Next: {command}", command=code(view.next_command))
    yield f"<sub>rlcompare {prose(view.version)}. {prose(view.thresholds)} {following}</sub>"


def _summary(view: ReportView) -> Iterator[str]:
    yield "| | |"
    yield "|---|---|"
    for item in view.summary:
        if item.key != "next":
            yield f"| {prose(item.label)} | {prose(' · '.join(item.first(12)))} |"
    yield ""


def _gate(gate: GateView) -> Iterator[str]:
    yield f"**{tr('Gate: {summary}', summary=prose(gate.summary))}**"
    yield ""
    if gate.status:
        yield f"- {prose(gate.status)}"
        yield from (finding_line(finding) for finding in gate.findings)
        if gate.quality:
            yield f"- {tr('data quality: {text}', text=prose(gate.quality))}"
        yield ""
    if gate.notes:
        yield from (f"- {tr('policy: {text}', text=prose(note))}" for note in gate.notes)
        yield ""
    failing = [verdict for verdict in gate.verdicts if verdict.failing]
    if failing:
        yield f"| {tr('verdict')} | {tr('metric')} | |"
        yield "|---|---|---|"
    for verdict in failing:
        text = verdict.text if verdict.verified else f"{verdict.text} ({tr(UNVERIFIED)})"
        text += f" · {verdict.message}" if verdict.message else ""
        status = status_word(verdict.status) if language.current() != language.ENGLISH else verdict.status
        status = f"{status} ({severity_word(verdict.severity)})" if verdict.severity != "error" else status
        yield f"| {prose(status)} | {code(verdict.metric)} | {prose(text)} |"
    if gate.unverified:
        yield ""
        yield f"<sub>{tr(UNVERIFIED)}: {gate.unverified}</sub>"
    yield ""


def _findings(title: str, findings: tuple[FindingView, ...]) -> Iterator[str]:
    if not findings:
        return
    yield f"<details><summary>{title} ({len(findings)})</summary>"
    yield ""
    for finding in findings[:20]:
        yield finding_line(finding)
    yield ""
    yield "</details>"
    yield ""


def finding_line(finding: FindingView) -> str:
    text = " ".join(part for part in (finding.sides, finding.message) if part)
    return f"- {prose(finding.word)}: {code(finding.key)} {prose(text)}"


def _table(table: Table) -> Iterator[str]:
    changed = [row for row in table.rows if row.tone != "noise"][:TABLE_ROWS]
    if not changed:
        return
    yield f"**{prose(table.title)}**"
    yield ""
    labels = {
        column.key: f"{column.label} ({column.unit})" if column.unit else column.label for column in table.columns
    }
    yield "| " + " | ".join([prose(table.columns[0].label), *(labels[key] for key in _COLUMNS), ""]) + " |"
    yield "|---|" + "--:|" * len(_COLUMNS) + "---|"
    for row in changed:
        yield _row(table, row)
    yield ""


def _row(table: Table, row: TableRow) -> str:
    cells = {column.key: cell.text for column, cell in zip(table.columns, row.cells, strict=True)}
    name = f"{code(row.cells[0].text)} {code(row.detail)}".rstrip()
    return "| " + " | ".join([name, *(prose(cells[key]) for key in _COLUMNS), tr(_TONES[row.tone])]) + " |"
