"""Rows of a table added up: those without a notable change, those that the page leaves out, and all of them.

Only tables whose rows are disjoint parts of one time have sums: times of modules and of framework calls contain each
other, and metrics have different units.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rlcompare.model.diff import Row
from rlcompare.report import quantity
from rlcompare.report.shares import BEYOND

SUMMED = frozenset(
    {"account", "categories", "copies", "groups", "kernel_types", "kernels", "operators", "path", "phases", "stacks"}
)
"""Sections whose rows are disjoint."""


@dataclass(frozen=True)
class Sum:
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


def sum_of(rows: Sequence[Row]) -> Sum:
    """The sum of some rows."""
    return Sum(len(rows), *(_total(row.get(key) for row in rows) for key in ("baseline", "new", "delta")))


def whole_of(parts: Sequence[Sum]) -> Sum:
    """The sum of sums."""
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
