"""The summary on a terminal: at most fifteen lines, then short tables.

``summary_lines``, ``warning_lines`` and ``table_lines`` return plain text of a given width. ``print_summary`` writes
all of it, coloured if the output is a terminal. Designed for 100 columns; works from 60 columns on.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from typing import TextIO

from rlcompare.language import tr
from rlcompare.report.output import Line, print_lines
from rlcompare.report.quantity import ABSENT
from rlcompare.report.summary import SummaryItem
from rlcompare.report.tables import OF_PROFILE, Table, TableRow
from rlcompare.report.view import ReportView
from rlcompare.text import fit, fit_names, flow, is_whole, pad, pieces, width_of, wrap

PIPED_WIDTH = 100
SUMMARY_LINES = 15
TABLE_ROWS = 5
WARNINGS = 8
"""Maximum number of symptoms, and of data warnings, shown on a terminal. The report lists all of them."""

TERMINAL_ROWS = 40
"""Rows that a view needs for the terminal. The first ``TABLE_ROWS`` of them that are not noise are shown."""

_LABEL = 12
_NAME = (20, 44)
_METRICS = ("timing_s/step", "timing_per_token_ms/step", "time.", "memory.", "perf/")
_TABLES = ("kernels", "operators", "collectives", "copies", "memory", "memory_categories", "stacks")
_MEASURES = ("baseline", "new", "delta", "ratio")
_COLOURED = slice(2, 4)


def summary_lines(view: ReportView, width: int = PIPED_WIDTH) -> list[str]:
    """The summary as plain text: at most ``SUMMARY_LINES`` lines of the given width."""
    return [line.text for line in _summary(view, width)]


def warning_lines(view: ReportView, width: int = PIPED_WIDTH) -> list[str]:
    """The signs of unstable training and the data warnings in full, if the summary has no room for them."""
    return [line.text for line in _warnings(view, width)]


def table_lines(view: ReportView, width: int = PIPED_WIDTH) -> list[str]:
    """The short tables below the summary as plain text: measured times and memory, then the rows that changed most."""
    return [line.text for line in _tables(view, width)]


def print_summary(view: ReportView, stream: TextIO, width: int | None = None) -> None:
    """Writes summary, warnings and tables.

    Args:
        width: columns; by default those of the terminal, or 100 if the output is not a terminal.
    """
    if width is None:
        width = shutil.get_terminal_size((PIPED_WIDTH, 24)).columns if stream.isatty() else PIPED_WIDTH
    print_lines([*_summary(view, width), *_warnings(view, width), *_tables(view, width)], stream)


def _summary(view: ReportView, width: int) -> Iterator[Line]:
    items, laid = view.summary, _layout(view.summary, width - _LABEL)
    for spare in [item for item in reversed(items) if item.spare]:
        if sum(map(len, laid)) > SUMMARY_LINES:
            items = tuple(item for item in items if item is not spare)
            laid = _layout(items, width - _LABEL)
    for item, texts in zip(items, laid, strict=True):
        for number, text in enumerate(texts):
            line = pad(item.label if number == 0 else "", _LABEL) + text
            spans = ((0, _LABEL, "label"), *(((_LABEL, len(line), item.tone),) if item.tone else ()))
            yield Line(line, spans)


def _layout(items: tuple[SummaryItem, ...], width: int) -> list[list[str]]:
    """The lines of each entry. Space goes to entries that are never cut, then to those with several lines, then to the
    first one that was cut.
    """
    laid = [_item_lines(item, width, 1 if item.lines else SUMMARY_LINES + 1 - len(items)) for item in items]
    for further in (0, 1):
        for index, item in enumerate(items):
            spare = SUMMARY_LINES - sum(map(len, laid))
            if spare > 0 and item.lines is not None and not (further and item.shorter):
                laid[index] = _item_lines(item, width, min(item.lines + further, len(laid[index]) + spare))
    return laid


def _item_lines(item: SummaryItem, width: int, lines: int) -> list[str]:
    if item.key == "next":
        # A shortened command cannot be typed: on a narrow terminal it may exceed the width.
        return list(item.parts)
    if item.lines is None:
        for parts in (item.parts, *item.shorter):
            lines_of_words = wrap(" ".join(parts), width)
            if len(lines_of_words) <= lines:
                return lines_of_words
        # Long names leave gaps at line ends. If there is no space for gaps, lines are broken anywhere.
        return pieces(" ".join(parts), width)
    whole = (parts for parts in (item.parts, *item.shorter) if is_whole(parts, width, lines))
    return flow(next(whole, item.shorter[-1] if item.shorter else item.parts), width, lines)


def _warnings(view: ReportView, width: int) -> Iterator[Line]:
    stability = next((item for item in view.summary if item.key == "stability"), None)
    if stability and not is_whole(stability.parts, width - _LABEL, stability.lines or 1):
        yield from _list(tr("Stability"), view.symptoms, stability.tone, width)
    quality = next(item for item in view.summary if item.key == "quality")
    warnings = [finding.message for finding in view.quality if finding.tone]
    if warnings and not is_whole(quality.parts, width - _LABEL, 1):
        yield from _list(tr("Warnings about the data"), warnings, "caution", width)


def _list(title: str, texts: Sequence[str], tone: str, width: int) -> Iterator[Line]:
    yield Line("")
    yield Line(title, ((0, len(title), "label"),))
    for message in texts[:WARNINGS]:
        first, *rest = wrap(message, width - 2)
        yield Line(first, ((0, len(first), tone),))
        yield from (Line(f"  {text}", ((0, len(text) + 2, tone),)) for text in rest)
    if len(texts) > WARNINGS:
        yield Line(tr("+{n} more in report.html", n=len(texts) - WARNINGS))


def _tables(view: ReportView, width: int) -> Iterator[Line]:
    overall = tuple(row for row in view.overall.rows if _is_metric(row) and _is_worth_a_row(row))
    if overall:
        yield from _table(view.overall, overall, width)
    for table in view.tables:
        if table.name in _TABLES and table.rows:
            changed = tuple(row for row in table.rows if row.tone != "noise" and _is_worth_a_row(row))
            yield from _table(table, changed[:TABLE_ROWS], width)


def _is_metric(row: TableRow) -> bool:
    """Whether a metric belongs on the terminal: a mean of time or memory."""
    name = row.cells[0].text
    of_role = name.startswith("role.") and name.endswith(".device_span")
    return of_role or (name.startswith(_METRICS) and "@" not in name)


def _is_worth_a_row(row: TableRow) -> bool:
    """Whether a side has a value other than 0. A row that is absent on one side and 0 on the other is omitted."""
    texts = [cell.text for cell in row.cells[1:3]]
    return ABSENT not in texts or any(digit in text for text in texts for digit in "123456789")


def _title(table: Table) -> str:
    unit = next((f", {column.unit}" for column in table.columns if column.unit), "")
    matched = f" ({tr('{part} matched', part=table.matched)})" if table.matched else ""
    profiled = f"; {tr(OF_PROFILE)}" if tr(OF_PROFILE) in table.note else ""
    return f"{table.title}{unit}{matched}{profiled}"


def _table(table: Table, rows: tuple[TableRow, ...], width: int) -> Iterator[Line]:
    """Title, headings, rows; the name is followed by the keys that identify the row, numbers are right-aligned."""
    title = fit(_title(table) if rows else tr("{title}: no notable change", title=_title(table)), width)
    yield Line("")
    yield Line(title, ((0, len(title), "label"),))
    if not rows:
        return
    columns = [[heading, *(_value(table, row, key) for row in rows)] for key, heading in _headings(table)]
    widths = [max(map(width_of, column)) for column in columns]
    name_width = min(max(width - sum(widths) - 2 * len(widths), _NAME[0]), _NAME[1])
    names = [table.columns[0].label, *(f"{row.cells[0].text} {row.detail}".rstrip() for row in rows)]
    for number, (name, *values) in enumerate(zip(fit_names(names, name_width), *columns, strict=True)):
        text = pad(name, name_width)
        # Wide characters take two columns, so spans are computed on the text.
        starts = []
        for value, column_width in zip(values, widths, strict=True):
            starts.append(len(text) + 2)
            text += "  " + pad(value, column_width, right=True)
        tone = "noise" if number == 0 else rows[number - 1].tone
        span = (0, len(text)) if tone == "noise" else (starts[_COLOURED.start], [*starts, len(text)][_COLOURED.stop])
        yield Line(fit(text, width), ((*span, tone),) if tone else ())


def _headings(table: Table) -> list[tuple[str, str]]:
    keys = {column.key: column.label for column in table.columns}
    headings = [(key, keys[key]) for key in _MEASURES]
    return [*headings, ("calls", tr("calls"))] if "new_calls" in keys else headings


def _value(table: Table, row: TableRow, key: str) -> str:
    cells = {column.key: cell.text for column, cell in zip(table.columns, row.cells, strict=True)}
    if key != "calls":
        return cells[key]
    baseline, new = cells.get("baseline_calls", ABSENT), cells.get("new_calls", ABSENT)
    return new if baseline == new else f"{baseline} → {new}"
