"""The short tables below the summary on a terminal: overall metrics, then the rows that changed most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

from rlcompare.language import tr
from rlcompare.report.output import Line
from rlcompare.report.quantity import ABSENT
from rlcompare.report.tables import OF_PROFILE, Table, TableRow
from rlcompare.report.view import ReportView
from rlcompare.text import fit, fit_names, pad, width_of, wrap

TERMINAL_ROWS = 40
"""Rows that a view needs for the terminal. The first of them that are not noise are shown."""

_ROWS, _OVERALL_ROWS = 4, 6
_NAME = (20, 44)
_METRICS = ("timing_s/step", "timing_per_token_ms/step", "time.", "memory.", "perf/")
_TABLES = ("kernels", "operators", "collectives", "copies", "memory", "memory_categories", "stacks")
_MEASURES = ("baseline", "new", "delta", "ratio")
_COLOURED = slice(2, 4)
_AROUND = 3
"""Lines of a table beside its rows: a blank one, its title, its headings."""


def tables(view: ReportView, width: int, room: int) -> Iterator[Line]:
    """As many tables as there is room for, and the names of those in which nothing changed."""
    still: list[str] = []
    for table, rows in _changed(view):
        if not rows:
            still.append(table.title)
            continue
        shown = rows[: min(len(rows), room - _AROUND)]
        if shown and room > _AROUND:
            room -= _AROUND + len(shown)
            yield from _table(table, shown, width)
    if still:
        text = tr("No notable change: {tables}", tables=_listed(still))
        yield Line("")
        yield from (Line(line, ((0, len(line), "noise"),)) for line in wrap(text, width))


def _listed(names: Iterable[str]) -> str:
    return reduce(lambda before, name: tr("{name}, {name1}", name=before, name1=name), names)


def _changed(view: ReportView) -> Iterator[tuple[Table, tuple[TableRow, ...]]]:
    """The tables, each with its first rows that are not noise."""
    overall = tuple(row for row in view.overall.rows if _is_metric(row))
    if overall:
        yield view.overall, _notable(overall)[:_OVERALL_ROWS]
    for table in view.tables:
        if table.name in _TABLES and table.rows and {column.key for column in table.columns}.issuperset(_MEASURES):
            yield table, _notable(table.rows)[:_ROWS]


def _notable(rows: tuple[TableRow, ...]) -> tuple[TableRow, ...]:
    return tuple(row for row in rows if row.tone != "noise" and _is_worth_a_row(row))


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
    unit = next((column.unit for column in table.columns if column.unit), "")
    title = tr("{title}, {unit}", title=table.title, unit=unit) if unit else table.title
    if table.matched:
        title = tr("{title} ({part} matched)", title=title, part=table.matched)
    profiled = f"; {tr(OF_PROFILE)}" if tr(OF_PROFILE) in table.note else ""
    return f"{title}{profiled}"


def _table(table: Table, rows: tuple[TableRow, ...], width: int) -> Iterator[Line]:
    """Title, headings, rows; the name is followed by the keys that identify the row, numbers are right-aligned."""
    title = fit(_title(table), width)
    yield Line("")
    yield Line(title, ((0, len(title), "label"),))
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
