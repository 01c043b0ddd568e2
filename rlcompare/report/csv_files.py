"""One CSV per section, for spreadsheets and scripts: the columns of ``diff.json``, numbers in full.

A spreadsheet runs a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return as a formula. Texts
begin so get a ``'`` in front, which a spreadsheet hides and a script must strip; numbers, and texts that are plain
numbers, stay as they are. Control characters become visible marks. Absent values are empty cells.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping

from rlcompare.model.diff import Diff, Value
from rlcompare.text import safe_text

CELL_LIMIT = 32_000
"""Longest text of a cell; Excel takes 32,767 characters."""

_FIRST = ("name", "presence", "baseline", "new", "delta", "ratio", "baseline_calls", "new_calls")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_PLAIN_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


def csv_texts(diff: Diff) -> dict[str, str]:
    """The text of each file by its name: ``overall.csv`` and one per section that has rows."""
    overall = [
        {
            "name": delta.metric,
            "unit": delta.unit,
            "polarity": delta.polarity,
            "baseline": delta.baseline,
            "new": delta.new,
            "delta": delta.delta,
            "ratio": delta.ratio,
        }
        for delta in diff.overall
    ]
    texts = {"overall.csv": _text(overall)}
    texts |= {
        f"{name}.csv": _text(section.rows, section.keys) for name, section in diff.sections.items() if section.rows
    }
    return texts


def cell(value: Value) -> str:
    """A value as the text of a cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return repr(value)
    dangerous = value.startswith(_FORMULA) and not _PLAIN_NUMBER.fullmatch(value)
    text = safe_text(value, CELL_LIMIT)
    return f"'{text}" if dangerous else text


def _text(rows: Iterable[Mapping[str, Value]], keys: tuple[str, ...] = ()) -> str:
    rows = list(rows)
    seen = dict.fromkeys(key for row in rows for key in row)
    columns = [key for key in dict.fromkeys(("name", *keys, *_FIRST)) if key in seen]
    columns += [key for key in seen if key not in columns]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([cell(key) for key in columns])
    writer.writerows([cell(row.get(key)) for key in columns] for row in rows)
    return out.getvalue()
