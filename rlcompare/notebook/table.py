"""A table of a run or of a comparison: as Arrow, as a DuckDB relation, or as a pandas data frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow

from rlcompare.errors import UsageError
from rlcompare.model.diff import Row
from rlcompare.report.columns import arrow_table

if TYPE_CHECKING:
    import duckdb

    from rlcompare.report.notebook import ShownTable

ROWS_SHOWN = 20
"""Number of rows in a notebook's preview of a table."""


@dataclass(frozen=True)
class Table:
    """Rows under named columns.

    Attributes:
        name: its name in the run or the comparison.
        title: its heading.
        note: how its rows were made, if a reader must know; may be empty.
        data: the rows.
    """

    name: str
    title: str
    data: pyarrow.Table = field(repr=False)
    note: str = ""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.data.column_names)

    def __len__(self) -> int:
        return int(self.data.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, each as a dictionary."""
        for batch in self.data.to_batches(max_chunksize=10_000):
            yield from batch.to_pylist()

    def arrow(self) -> pyarrow.Table:
        """As Arrow, without a copy."""
        return self.data

    def relation(self) -> duckdb.DuckDBPyRelation:
        """As a DuckDB relation, in its own in-memory database, without a copy."""
        import duckdb

        return duckdb.connect(":memory:").from_arrow(self.data)

    def df(self) -> Any:
        """As a ``pandas.DataFrame``.

        Raises:
            UsageError: pandas is not installed.
        """
        try:
            return self.data.to_pandas()
        except ImportError as error:
            hint = "pip install 'rlcompare[notebook]', or use arrow() or relation()"
            raise UsageError(f"df() needs pandas: {hint}") from error

    def __repr__(self) -> str:
        from rlcompare.report.table import table_lines

        more = [f"... and {len(self) - ROWS_SHOWN} more"] if len(self) > ROWS_SHOWN else []
        return "\n".join([self.title, *table_lines(self.columns, self.first(ROWS_SHOWN)), *more])

    def _repr_html_(self) -> str:
        from rlcompare.report.notebook import render_tables

        return render_tables([self.shown()])

    def first(self, number: int) -> list[tuple[Any, ...]]:
        """The values of the first rows."""
        head = self.data.slice(0, number)
        return list(zip(*(column.to_pylist() for column in head.columns), strict=True)) if self.columns else []

    def shown(self) -> ShownTable:
        """The preview in a notebook."""
        from rlcompare.report.notebook import ShownTable

        return ShownTable(self.title, self.note, self.columns, self.first(ROWS_SHOWN), len(self))


def table_of_rows(name: str, title: str, rows: Sequence[Row], note: str = "") -> Table:
    """A table of rows whose columns may differ. Missing values are null."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return Table(name, title, arrow_table(rows, columns), note)
