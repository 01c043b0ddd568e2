"""``tables.xlsx``: a workbook with a sheet per table of ``diff.json``, and a first sheet that says what they hold.

Columns have the names of ``diff.json``. What Excel cannot hold is cut, and the first sheet says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from rlcompare.language import tr, trn
from rlcompare.model.diff import Diff, Row, Section
from rlcompare.report import xlsx
from rlcompare.report.columns import columns_of, tables_of
from rlcompare.report.tables import title_of
from rlcompare.report.view import ReportView
from rlcompare.report.xlsx import Cell, Sheet, Style

README = "README"
_VALUES = ("baseline", "new", "delta")
_WIDEST, _NARROWEST, _LOOKED_AT = 48, 12, 200


@dataclass(frozen=True)
class _Table:
    """A table and the name of its sheet."""

    sheet: str
    section: Section
    columns: tuple[str, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows that fit below the heading."""
        return self.section.rows[: xlsx.MOST_ROWS - 1]


def write_workbook(diff: Diff, view: ReportView, path: Path | BinaryIO) -> None:
    """Writes the workbook of a diff, whose view has the texts of the first sheet."""
    tables = _named(tables_of(diff))
    xlsx.write_xlsx([_readme(view, tables), *map(_sheet, tables)], path)


def _named(sections: Mapping[str, Section]) -> list[_Table]:
    found: list[_Table] = []
    for section in sections.values():
        name = xlsx.free_name(section.name, (README, *(table.sheet for table in found)))
        found.append(_Table(name, section, tuple(columns_of(section.rows, section.keys)[: xlsx.MOST_COLUMNS])))
    return found


def _sheet(table: _Table) -> Sheet:
    widths = [_width(column, table.rows) for column in table.columns]
    return Sheet(table.sheet, widths, _cells(table), is_table=True, size=len(table.rows) + 1)


def _cells(table: _Table) -> Iterator[Sequence[Cell]]:
    yield [(_heading(column, table.section), Style.HEADING) for column in table.columns]
    styles = [(column, _style(column, table.section)) for column in table.columns]
    for row in table.rows:
        yield [(row.get(column), style) for column, style in styles]


def _heading(column: str, section: Section) -> str:
    return f"{column} ({section.unit})" if section.unit and column in _VALUES else column


def _style(column: str, section: Section) -> Style:
    unit = section.unit if column in _VALUES else column.rpartition("_")[2]
    return {
        "ms": Style.TIME,
        "bytes": Style.COUNT,
        "calls": Style.COUNT,
        "share": Style.SHARE,
        "ratio": Style.TIME,
    }.get(unit, Style.PLAIN)


def _width(column: str, rows: Sequence[Row]) -> int:
    texts = (value for row in rows[:_LOOKED_AT] if isinstance(value := row.get(column), str))
    return max(_NARROWEST, len(column) + 4, min(_WIDEST, max(map(len, texts), default=0) + 2))


def _readme(view: ReportView, tables: Sequence[_Table]) -> Sheet:
    """The first sheet: the answer, what the others hold, and what did not fit."""
    rows = [*_answer(view), (), _plain(tr("sheet"), tr("holds"), tr("rows"), tr("note"), style=Style.HEADING)]
    links = {}
    for table in tables:
        title = tr("Metrics of the whole step") if table.section.name == "overall" else title_of(table.section.name)
        total = (table.section.total, Style.COUNT)
        rows.append([(table.sheet, Style.LINK), (title, Style.PLAIN), total, (_note(table), Style.PLAIN)])
        links[f"A{len(rows)}"] = table.sheet
    rows += [(), *map(_plain, _explanations(tables))]
    return Sheet(README, (24, 60, 12, 80), rows, links=links)


def _plain(*texts: str, style: Style = Style.PLAIN) -> Sequence[Cell]:
    return [(text, style) for text in texts]


def _answer(view: ReportView) -> Iterator[Sequence[Cell]]:
    yield _plain(view.title, style=Style.TITLE)
    yield _plain(f"{view.answer.text}{view.answer.rest}.", style=Style.HEADING)
    yield _plain(view.status_text)
    yield _plain(tr("Made by rlcompare {version}.", version=view.version))
    yield ()
    head = view.headline
    yield _plain(head.metric, head.absent or f"{head.baseline} → {head.new}  {head.delta}  {head.change}")
    for symptom in view.symptoms:
        yield _plain(tr("training"), symptom)
    for cause in view.causes:
        yield _plain(tr("cause"), f"{cause.text} ({', '.join(filter(None, (cause.delta, cause.share)))})")
    if view.unexplained:
        yield _plain(tr("unexplained"), view.unexplained)


def _note(table: _Table) -> str:
    unfit = len(table.section.rows) - len(table.rows)
    texts = [
        table.section.note,
        trn("{n} row does not fit into a sheet.", "{n} rows do not fit into a sheet.", unfit) if unfit else "",
        tr("Only the rows that diff.json holds.") if table.section.rest else "",
    ]
    return " ".join(filter(None, texts))


def _explanations(tables: Sequence[_Table]) -> Iterator[str]:
    yield tr("presence: the sides on which a row was found. ratio: new / baseline. An empty cell: not measured.")
    values = (value for table in tables for row in table.rows for value in row.values() if isinstance(value, str))
    long = sum(map(xlsx.is_too_long, values))
    if long:
        yield trn(
            "{n} text is cut to the 32,767 characters of a cell.",
            "{n} texts are cut to the 32,767 characters of a cell.",
            long,
        )
