"""A clause on what the kernels of an operator achieved before and now, from the section ``efficiency``."""

from __future__ import annotations

from collections.abc import Sequence

from rlcompare.compare.evidence import Evidence
from rlcompare.compare.operator_changes import OperatorChange
from rlcompare.compare.rows import number
from rlcompare.model.diff import Row
from rlcompare.model.digits import grouped
from rlcompare.model.words import SIDES, Presence, SideName

WHOLE = 0.01
"""The rows must hold the operator's time up to this part of it."""


def achieved(evidence: Evidence, change: OperatorChange, shapes: str | None = None) -> str:
    """What an operator that does the same work at another speed achieves: `` (217 → 120 TFLOP/s)``.

    Empty where it is not known for all of its kernels, or is an upper limit only.

    Args:
        shapes: the input shapes that ``change`` is limited to.
    """
    section = evidence.sections.get("efficiency")
    rows = [
        row
        for row in (section.rows if section else ())
        if row["name"] == change.name and shapes in (None, row["input_shapes"])
    ]
    if not rows or any(row["at_most"] or row["presence"] != Presence.BOTH for row in rows):
        return ""
    times = [sum(number(row[side]) or 0.0 for row in rows) for side in SIDES]
    if any(abs(part - known) > WHOLE * known for part, known in zip(times, (change.baseline, change.new), strict=True)):
        return ""
    for column, unit in (("tflops", "TFLOP/s"), ("gb_per_s", "GB/s")):
        before, after = (_mean(rows, side, column) for side in SIDES)
        if before is not None and after is not None and _rate(before) != _rate(after):
            return f" ({_rate(before)} → {_rate(after)} {unit})"
    return ""


def _mean(rows: Sequence[Row], side: SideName, column: str) -> float | None:
    """The rate of all rows together: their means, weighted by time; None if one is unknown."""
    rates = [(number(row[f"{side}_{column}"]), number(row[side]) or 0.0) for row in rows]
    known = [(rate, time) for rate, time in rates if rate is not None]
    total = sum(time for _, time in known)
    return sum(rate * time for rate, time in known) / total if total and len(known) == len(rates) else None


def _rate(value: float) -> str:
    return grouped(value, 0 if value >= 100 else 1 if value >= 1 else 3)
