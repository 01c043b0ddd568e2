"""What all pictures of a report have: a title, what is drawn, and the same numbers as a table of text.

A module of this package computes where each mark stands; the template of the same name in
``report_templates/charts/`` places it as SVG. Texts are safe to show (``text.safe_text``), not yet escaped.
"""

from __future__ import annotations

from typing import NamedTuple


class TextTable(NamedTuple):
    """The numbers of a picture as text, for screen readers and for those who want them.

    Attributes:
        numeric: for each column, whether it holds numbers.
    """

    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]


class Chart(NamedTuple):
    """A picture.

    Attributes:
        name: its anchor is ``#c-NAME``, its template ``charts/NAME.svg.j2``.
        title: what it shows, as a heading.
        finding: what a reader should see in it, in one sentence made from its numbers; empty if nothing stands out.
        note: how to read it, and where its numbers come from.
        content: what the template draws, a frozen dataclass of the chart's module.
        table: the same numbers.
    """

    name: str
    title: str
    finding: str
    note: str
    content: object
    table: TextTable
