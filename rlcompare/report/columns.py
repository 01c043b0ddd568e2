"""Rows of a table as columns: their order, and as an Arrow table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rlcompare.model.diff import Diff, Row, Section, Value

if TYPE_CHECKING:
    import pyarrow

_MEASURES = ("baseline", "new", "delta", "ratio", "baseline_calls", "new_calls")
_FIRST = ("name", "presence", *_MEASURES)


def tables_of(diff: Diff) -> dict[str, Section]:
    """All tables of a diff that have rows, as data files hold them: ``overall`` first, without single runs' values."""
    overall = (
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
    )
    tables = {"overall": Section("overall", "", (), None, "", tuple(overall)), **diff.sections}
    return {name: table for name, table in tables.items() if table.rows or name == "overall"}


def columns_of(rows: Iterable[Mapping[str, Value]], keys: Sequence[str] = ()) -> list[str]:
    """The columns of rows that need not all have the same: first what identifies a row, then the measures."""
    seen: dict[str, None] = {}
    for row in rows:
        if row.keys() != seen.keys():
            seen |= dict.fromkeys(row)
    columns = [key for key in dict.fromkeys(("name", *keys, *_FIRST)) if key in seen]
    return columns + [key for key in seen if key not in columns]


def arrow_table(rows: Sequence[Row], columns: Sequence[str]) -> pyarrow.Table:
    """Rows as an Arrow table. Missing values, NaN and infinities are null; lone surrogates become question marks.

    A column of texts and numbers is one of texts. One without any value is one of numbers if it is a measure.
    """
    import pyarrow

    return pyarrow.table({column: _array(column, [row.get(column) for row in rows]) for column in columns})


def _array(column: str, values: list[Any]) -> pyarrow.Array:
    import pyarrow
    import pyarrow.compute

    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return pyarrow.nulls(len(values), pyarrow.float64() if column in _MEASURES else pyarrow.string())
    if kinds <= {int, float}:
        if kinds == {int} and _fits(values):
            return pyarrow.array(values, pyarrow.int64())
        numbers = pyarrow.array([None if value is None else float(value) for value in values], pyarrow.float64())
        return pyarrow.compute.if_else(pyarrow.compute.is_finite(numbers), numbers, None)
    if kinds == {bool}:
        return pyarrow.array(values, pyarrow.bool_())
    return pyarrow.array([None if value is None else _text(value) for value in values], pyarrow.string())


def _fits(values: Iterable[int | None]) -> bool:
    return all(value is None or -(2**63) <= value < 2**63 for value in values)


def _text(value: object) -> str:
    text = str(value)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
