"""``report.md``, sized for a pull request: the answer, its causes and their picture; the rest is folded.

Names are shown as code. A name with anything but plain characters is written in character references, so that no
renderer takes it for Markdown, HTML, a mention or a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rlcompare import language
from rlcompare.language import listed, mark, tr, trn
from rlcompare.report.findings import FindingView
from rlcompare.report.gate_view import UNVERIFIED, GateView, severity_word, status_word
from rlcompare.report.summary import COMMAND_LIMIT
from rlcompare.report.tables import Table, TableRow
from rlcompare.report.view import CAUSES_SHOWN, ReportView
from rlcompare.text import safe_text

TABLE_ROWS = 5
_NAME_LIMIT = 80
_TABLES = ("phases", "kernels", "operators", "collectives", "memory", "memory_categories", "stacks")
_COLUMNS = ("baseline", "new", "delta", "ratio")
_PLAIN = re.compile(r"[A-Za-z0-9_.:;,/()+=<>· -]*")
_ACTIVE = re.compile(r"[&<>|`*\[\]\\~$!{}#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_REFERENCE = re.compile(r"[@#]|[!$%&^~](?=[\w\"'])|\bGH-(?=\d)|:(?=//)|www(?=\.)", re.IGNORECASE)
_ICONS = {"worse": "🔴", "better": "🟢", "caution": "🟡", "noise": "⚪", "": ""}
_TONES = {
    "worse": mark("🔴 worse"),
    "better": mark("🟢 better"),
    "": "",
    "noise": "",
    "caution": "🟡",
    "differs": "",
}


def render_markdown(view: ReportView, picture: str = "") -> str:
    """The text for a view.

    Args:
        picture: the file beside it that has the picture of ``report.picture``; empty if there is none.
    """
    return "\n".join(_lines(view, picture)) + "\n"


def code(name: str, limit: int = _NAME_LIMIT) -> str:
    """A name as code, safe for any characters."""
    text = safe_text(name, limit).strip()
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


def _lines(view: ReportView, picture: str) -> Iterator[str]:
    yield f"### {' '.join(filter(None, (_ICONS[view.answer.tone], prose(view.title))))}: {prose(view.answer.text)}"
    yield ""
    if view.answer.rest:
        yield answer(view)
        yield ""
    if view.status != "comparable":
        yield f"> **{prose(view.status_text)}**"
        yield ""
    if view.symptoms:
        yield from (f"- {prose(text)}" for text in view.symptoms)
        yield ""
    yield from causes(view)
    if picture:
        from rlcompare.report.picture import text_of

        yield f"![{prose(text_of(view))}]({picture})"
        yield ""
    if view.gate:
        yield from _gate(view.gate)
    yield from folded(tr("Summary"), summary_table(view))
    if view.events:
        events = [f"- {prose(event.text)}" for event in view.events]
        yield from folded(f"{tr('Within the runs')} ({len(view.events)})", events)
    yield from _findings(tr("What differs"), view.comparability)
    for table in view.tables:
        if table.name in _TABLES:
            yield from _table(table)
    yield from _findings(tr("Data quality"), view.quality)
    following = tr("Next: {command}", command=code(view.next_command, COMMAND_LIMIT))
    yield f"<sub>rlcompare {prose(view.version)}. {prose(view.thresholds)} {following}</sub>"


def answer(view: ReportView) -> str:
    """The answer in one sentence."""
    return f"**{prose(view.answer.text)}**{prose(view.answer.rest)}"


def causes(view: ReportView) -> Iterator[str]:
    """The first causes, and what is left: together the whole change."""
    for cause in view.causes[:CAUSES_SHOWN]:
        amount = listed(filter(None, (cause.share, cause.delta)))
        yield f"{cause.number}. {prose(cause.text)} **({prose(amount)})**"
    others, left = len(view.causes) - CAUSES_SHOWN, []
    if view.more_causes:
        left.append(trn("{n} other cause: {part}", "{n} other causes: {part}", others, part=view.more_causes))
    if view.unexplained:
        left.append(tr("unexplained: {part}", part=view.unexplained))
    if left:
        yield ""
        yield f"<sub>{prose(' · '.join(left))}</sub>"
    if view.causes or left:
        yield ""


def folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines that show on request."""
    yield f"<details><summary>{prose(title)}</summary>"
    yield ""
    yield from lines
    yield ""
    yield "</details>"
    yield ""


def summary_table(view: ReportView) -> Iterator[str]:
    """What the summary says beside the answer and its causes."""
    yield "| | |"
    yield "|---|---|"
    for item in view.summary:
        if item.key not in ("cause", "stability", "next"):
            yield f"| {prose(item.label)} | {prose(' · '.join(item.first(12)))} |"


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
    if findings:
        yield from folded(f"{title} ({len(findings)})", map(finding_line, findings[:20]))


def finding_line(finding: FindingView) -> str:
    text = " ".join(part for part in (finding.sides, finding.message) if part)
    return f"- {prose(finding.word)}: {code(finding.key)} {prose(text)}"


def _table(table: Table) -> Iterator[str]:
    changed = [row for row in table.rows if row.tone != "noise"][:TABLE_ROWS]
    if not changed or not {column.key for column in table.columns}.issuperset(_COLUMNS):
        return
    yield from folded(table.title, _table_lines(table, changed))


def _table_lines(table: Table, changed: list[TableRow]) -> Iterator[str]:
    labels = {
        column.key: f"{column.label} ({column.unit})" if column.unit else column.label for column in table.columns
    }
    yield "| " + " | ".join([prose(table.columns[0].label), *(labels[key] for key in _COLUMNS), ""]) + " |"
    yield "|---|" + "--:|" * len(_COLUMNS) + "---|"
    for row in changed:
        yield _row(table, row)


def _row(table: Table, row: TableRow) -> str:
    cells = {column.key: cell.text for column, cell in zip(table.columns, row.cells, strict=True)}
    name = f"{code(row.cells[0].text)} {code(row.detail)}".rstrip()
    return "| " + " | ".join([name, *(prose(cells[key]) for key in _COLUMNS), tr(_TONES[row.tone])]) + " |"
