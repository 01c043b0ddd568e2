"""The content of the page of one run: what ``rlcompare show`` prints, with pictures. Nothing is better or worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rlcompare import __version__
from rlcompare.language import mark, tr, trn
from rlcompare.report.cells import Cell, Column
from rlcompare.report.charts.chart import Chart
from rlcompare.report.charts.one_run import account_chart, phases_chart
from rlcompare.report.sentences import said
from rlcompare.report.table import cell_text
from rlcompare.report.tables import ROW_LIMIT, Table, TableRow
from rlcompare.text import safe_text

_TEXT_LIMIT = 400
_SENTENCE_LIMIT = 1000
_UNITS = {"ms": "ms", "us": "µs", "percent": "%", "bytes": "bytes"}
_OF_PIPELINES = ("p2p_ms", "bubble_ms", "stage_ms")
"""Columns of pipelines, shown only if ranks send to each other."""
_SEVERITIES = {"warning": mark("warning"), "info": mark("info")}


@dataclass(frozen=True)
class RunSection:
    """A section of a run, as ``app.sections`` reads it."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[tuple[Any, ...]]


@dataclass(frozen=True)
class Note:
    """What is missing, damaged or inferred. ``word`` is the severity in the language in use."""

    severity: str
    word: str
    text: str


@dataclass(frozen=True)
class RunView:
    """The page of a run, in order.

    Attributes:
        facts: what the run is, as labels and values.
        path: as the user gave it.
    """

    title: str
    path: str
    version: str
    facts: tuple[tuple[str, str], ...]
    quality: tuple[Note, ...]
    charts: tuple[Chart, ...]
    tables: tuple[Table, ...]


def run_view(sections: Sequence[RunSection], path: str) -> RunView:
    """The view of a run."""
    named = {section.name: section for section in sections}
    facts = _facts(named["overview"])
    charts = (account_chart(_dicts(named["path"]) or _dicts(named["account"])), phases_chart(_dicts(named["phases"])))
    quality = _dicts(named["quality"]) if "quality" in named else []
    return RunView(
        title=dict(facts).get("run") or safe_text(path),
        path=safe_text(path),
        version=__version__,
        facts=facts,
        quality=tuple(map(_note, quality)),
        charts=tuple(chart for chart in charts if chart is not None),
        tables=tuple(_table(section) for section in sections if section.name not in ("overview", "quality")),
    )


def measured(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> list[int]:
    """Indexes of the columns that have measured values. Columns of pipelines count only if anything was sent."""
    known = [index for index in range(len(columns)) if any(row[index] is not None for row in rows)]
    sent = any(row[index] for index in known if columns[index] in _OF_PIPELINES[:2] for row in rows)
    return known if sent else [index for index in known if columns[index] not in _OF_PIPELINES]


def _dicts(section: RunSection) -> list[dict[str, Any]]:
    return [dict(zip(section.columns, row, strict=True)) for row in section.rows]


def _facts(overview: RunSection) -> tuple[tuple[str, str], ...]:
    (row,) = _dicts(overview)
    return tuple((key, safe_text(value)) for key, value in row.items() if value not in (None, 0))


def _note(row: dict[str, Any]) -> Note:
    count = trn("{n} capture", "{n} captures", row["captures"])
    text = safe_text(said(str(row["message"])), _SENTENCE_LIMIT)
    severity = safe_text(row["severity"], 20)
    return Note(severity, tr(_SEVERITIES.get(severity, severity)), f"{text} ({count})" if row["captures"] > 1 else text)


def _table(section: RunSection) -> Table:
    """The first rows of a section, without columns that were not measured."""
    places = measured(section.columns, section.rows)
    shown = section.rows[:ROW_LIMIT]
    columns = tuple(_column(section.columns[place], [row[place] for row in shown]) for place in places)
    whole = {place for place in places if all(_is_whole(row[place]) for row in shown)}
    rows = tuple(
        TableRow(
            tuple(
                _cell(int(row[place]) if place in whole and row[place] is not None else row[place]) for place in places
            ),
            "",
        )
        for row in shown
    )
    rest = tr("the output of rlcompare show --json")
    return Table(section.name, safe_text(section.title), "", "", columns, rows, len(section.rows), rest)


def _column(name: str, values: Sequence[Any]) -> Column:
    stem, _, last = name.rpartition("_")
    unit = _UNITS.get(last, "") if stem else ""
    label = stem if unit else name
    numeric = all(value is None or _is_number(value) for value in values)
    return Column(name, tr(safe_text(label.replace("_", " "), 60)), numeric, unit=unit)


def _cell(value: Any) -> Cell:
    return Cell(cell_text(value, True, _TEXT_LIMIT), repr(value) if _is_number(value) else None)


def _is_whole(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value.is_integer())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
