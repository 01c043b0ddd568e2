"""One CSV per section, for spreadsheets and scripts: the columns of ``diff.json``, numbers in full.

A spreadsheet runs a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return as a formula. Texts
that begin so get a ``'`` in front, which a spreadsheet hides and a script must strip; numbers, and texts that are plain
numbers, stay as they are. Control characters become visible marks. Absent values are empty cells.
"""

from __future__ import annotations

import csv
import io
import re

from rlcompare.model.diff import Diff, Section, Value
from rlcompare.report.columns import columns_of, tables_of
from rlcompare.text import safe_text

CELL_LIMIT = 32_000
"""Longest text of a cell; Excel takes 32,767 characters."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_PLAIN_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


def csv_texts(diff: Diff) -> dict[str, str]:
    """The text of each file by its name: ``overall.csv`` and one per section that has rows."""
    return {f"{name}.csv": _text(table) for name, table in tables_of(diff).items()}


def cell(value: Value) -> str:
    """A value as the text of a cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return repr(value)
    return mark_before(value) + safe_text(value, CELL_LIMIT)


def mark_before(text: str) -> str:
    """What a cell with a text begins with, so that no spreadsheet takes the text for a formula: ``'``, or nothing."""
    return "'" if text.startswith(_FORMULA) and not _PLAIN_NUMBER.fullmatch(text) else ""


def _text(table: Section) -> str:
    columns = columns_of(table.rows, table.keys)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([cell(key) for key in columns])
    writer.writerows([cell(row.get(key)) for key in columns] for row in table.rows)
    return out.getvalue()
