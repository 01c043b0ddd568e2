"""Rows of a table added up: those without a notable change, those that the page leaves out, and all of them.

Only tables whose rows are disjoint parts of one time have sums: times of modules and of framework calls contain each
other, and metrics have different units.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rlcompare.language import trn
from rlcompare.model.diff import Rest, Row, Section
from rlcompare.report import quantity
from rlcompare.report.cells import SHARE_OF_CHANGE, Cell, cells_of
from rlcompare.report.shares import BEYOND

SUMMED = frozenset(
    {"account", "categories", "copies", "groups", "kernel_types", "kernels", "operators", "path", "phases", "stacks"}
)
"""Sections whose rows are disjoint."""


class Sum(NamedTuple):
    """Rows added up.

    Attributes:
        rows: their number.
        baseline, new, delta: None if one of the rows has no such value.
    """

    rows: int
    baseline: float | None = None
    new: float | None = None
    delta: float | None = None

    @property
    def ratio(self) -> float | None:
        """``new / baseline``, if there is one."""
        return self.new / self.baseline if self.baseline and self.baseline > 0 and self.new is not None else None


class SumRow(NamedTuple):
    """Rows added up.

    Attributes:
        part: ``changed``, ``same`` (no notable change), ``beyond`` (not in the table) or ``all``.
        cells: one per column of the table; empty where there is nothing to add up.
    """

    part: str
    cells: tuple[Cell, ...]


def sum_of(rows: Sequence[Row]) -> Sum:
    """The sum of some rows."""
    return Sum(len(rows), *(_total(row.get(key) for row in rows) for key in ("baseline", "new", "delta")))


def whole_of(parts: Sequence[Sum]) -> Sum:
    """The sum of sums; those of no rows do not count."""
    parts = [part for part in parts if part.rows]
    if not parts:
        return Sum(0)
    totals = (_total(values) for values in zip(*((part.baseline, part.new, part.delta) for part in parts), strict=True))
    return Sum(sum(part.rows for part in parts), *totals)


def shares_of(rows: Sequence[Row], whole: Sum, floor: float) -> tuple[float | None, ...]:
    """Each row's part of the change of the whole table; empty if that says little.

    That is so if rows changed in both directions, so that one of them changed by more than all together, or if the
    whole changed by less than ``floor``.
    """
    if whole.delta is None or abs(whole.delta) <= floor:
        return ()
    changes = [delta if quantity.is_number(delta := row.get("delta")) else None for row in rows]
    shares = tuple(None if change is None else change / whole.delta for change in changes)
    return () if any(share is not None and share > BEYOND for share in shares) else shares


def sums_of(section: Section, same: Sequence[bool]) -> dict[str, Sum]:
    """The sums of a table's parts; none where its rows are no disjoint times, or where they would tell nothing new.

    Args:
        same: for each row of the table whether its change is too small to matter; further rows are not in the table.
    """
    if section.name not in SUMMED or section.total < 2:
        return {}
    shown = section.rows[: len(same)]
    parts = {
        "changed": sum_of([row for row, noise in zip(shown, same, strict=True) if not noise]),
        "same": sum_of([row for row, noise in zip(shown, same, strict=True) if noise]),
        "beyond": whole_of([sum_of(section.rows[len(same) :]), *map(_of_rest, section.rest)]),
    }
    parts = {part: found for part, found in parts.items() if found.rows}
    whole = whole_of(list(parts.values()))
    if whole.baseline is None and whole.new is None:
        return {}
    return {**(parts if len(parts) > 1 else {}), "all": whole}


def with_shares(rows: tuple[Row, ...], sums: Mapping[str, Sum], floor: float) -> tuple[Row, ...]:
    """The rows with their part of the table's change, where that says something."""
    shares = shares_of(rows, sums["all"], floor) if "all" in sums else ()
    return tuple({**row, SHARE_OF_CHANGE: share} for row, share in zip(rows, shares, strict=True)) if shares else rows


def sum_rows(sums: Mapping[str, Sum], units: dict[str, str], shown: str, decimals: int) -> tuple[SumRow, ...]:
    """The sums as lines of a table; see ``cells.cells_of``."""
    return tuple(SumRow(part, _cells(part, found, units, shown, decimals)) for part, found in sums.items())


def _cells(part: str, found: Sum, units: dict[str, str], shown: str, decimals: int) -> tuple[Cell, ...]:
    label = {
        "changed": trn("{n} row that changed", "{n} rows that changed", found.rows),
        "same": trn("{n} row without notable change", "{n} rows without notable change", found.rows),
        "beyond": trn("{n} row that is not on this page", "{n} rows that are not on this page", found.rows),
        "all": trn("{n} row in all", "{n} rows in all", found.rows),
    }[part]
    row: Row = {
        "name": label,
        "baseline": found.baseline,
        "new": found.new,
        "delta": found.delta,
        "ratio": found.ratio,
    }
    cells = cells_of(row, units, shown, decimals)
    return tuple(cell if key in row else Cell("") for key, cell in zip(units, cells, strict=True))


def _of_rest(rest: Rest) -> Sum:
    return Sum(rest.rows, rest.baseline, rest.new, rest.delta)


def largest_change(rows: Iterable[Row]) -> float | None:
    """The largest change of any row; None if one of them has none."""
    largest = 0.0
    for row in rows:
        delta = row.get("delta")
        if not quantity.is_number(delta):
            return None
        largest = max(largest, abs(delta))
    return largest


def _total(values: Iterable[object]) -> float | None:
    found = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        found.append(value)
    return math.fsum(found) if found else None
