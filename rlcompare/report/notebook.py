"""Notebook view of a comparison or of tables: HTML without scripts, with every name escaped.

A cell's output is part of the notebook's page: it has its own CSS class, to which the styles of its pictures are
scoped, and is protected from Jupyter's rendering of formulas (``$…$``). The pictures are those of report.html, always
on a light ground.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from rlcompare.report.html import picture_style
from rlcompare.report.templates import environment
from rlcompare.report.view import ReportView
from rlcompare.text import safe_text

_TEMPLATE = "notebook.html.j2"
_SCOPE = "rlcompare"
"""The class of a cell's output."""

_TEXT_LIMIT = 200


@dataclass(frozen=True)
class ShownTable:
    """The first rows of a table.

    Attributes:
        rows: the rows shown, with values in the order of ``columns``.
        total: the number of all rows.
    """

    title: str
    note: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    total: int


def render_comparison(view: ReportView) -> str:
    """The answer, the causes and the pictures of a comparison, and its tables folded below."""
    style = Markup(picture_style(f".{_SCOPE}")) if view.charts else ""
    template = environment().get_template(_TEMPLATE)
    return template.render(view=view, charts=view.charts, style=style, tables=None, title="")


def render_tables(tables: Sequence[ShownTable], title: str = "") -> str:
    """Tables one below the other."""
    from rlcompare.report.table import cell_text

    shown = [
        {
            "title": safe_text(table.title),
            "note": safe_text(table.note, 600),
            "columns": [safe_text(column) for column in table.columns],
            "rows": [[(cell_text(value, True, _TEXT_LIMIT), _is_number(value)) for value in row] for row in table.rows],
            "hidden": table.total - len(table.rows),
        }
        for table in tables
    ]
    template = environment().get_template(_TEMPLATE)
    return template.render(view=None, charts=(), style="", tables=shown, title=safe_text(title))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
