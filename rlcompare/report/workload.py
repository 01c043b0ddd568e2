"""The workload of both sides: a step that takes longer because it did more work is not a regression."""

from __future__ import annotations

import math

from rlcompare.language import tr
from rlcompare.model.diff import Diff, Row, Value
from rlcompare.report import quantity
from rlcompare.text import safe_text

LARGE_RELATIVE = 0.05
"""A larger difference of the workload is reported above all numbers."""

_SHAPES = "workload.input_elements"
_KERNELS = "workload.kernels"
_TOKENS = "workload.total_tokens"
_OF_COLLECTIVES = frozenset({"workload.collectives", "workload.collective_bytes"})
_RATE = "timing_per_token_ms/step"


def workload_texts(diff: Diff) -> tuple[tuple[str, ...], bool]:
    """The workload in short texts, and whether it differs."""
    rows = _rows(diff)
    if not rows:
        return (tr("not recorded: a longer step may simply have done more work"),), False
    known = [row for row in rows if _is_known(row)]
    changed = [row for row in known if not _is_same(row.get("baseline"), row.get("new"))]
    if changed:
        # If space is short, total tokens and the time per token matter most.
        first = [row for row in changed if row.get("name") == _TOKENS]
        others = [row for row in changed if row.get("name") != _TOKENS]
        return (tr("differs"), *map(_moved, first), *(_rate(diff) if first else ()), *map(_moved, others)), True
    if not known:
        return (tr("not comparable: the sides recorded different measures"),), False
    same = (f"{_name(row)} {quantity.quantity(row.get('new'), _unit(row))}" for row in known)
    return (_the_same(diff, known), *same), False


def large_differences(diff: Diff) -> tuple[str, ...]:
    """The measures of the workload that differ by more than ``LARGE_RELATIVE``."""
    return tuple(_moved(row) for row in _rows(diff) if _is_known(row) and _is_large(row))


def _the_same(diff: Diff, known: list[Row]) -> str:
    """That the work is the same, as far as it is known: without shapes, kernels of other sizes look the same."""
    names = {row.get("name") for row in known}
    if names <= _OF_COLLECTIVES:
        return tr("the same as far as recorded (only collectives)")
    if _KERNELS not in names or _SHAPES in names:
        return tr("the same")
    if any(side.env.get("profiler.level", "").lower() == "level0" for side in (diff.baseline, diff.new)):
        return tr("the same as far as recorded (no shapes at Level0)")
    return tr("the same as far as recorded (no shapes)")


def _rows(diff: Diff) -> tuple[Row, ...]:
    section = diff.sections.get("workload")
    return () if section is None else section.rows


def _is_known(row: Row) -> bool:
    return row.get("baseline") is not None and row.get("new") is not None


def _is_same(baseline: Value, new: Value) -> bool:
    """Whether values are equal except for rounding: consoles print three decimals, and TensorBoard keeps 24 bits."""
    if not quantity.is_number(baseline) or not quantity.is_number(new):
        return baseline == new
    return math.isclose(baseline, new, rel_tol=1e-7, abs_tol=5e-4)


def _is_large(row: Row) -> bool:
    ratio, delta = row.get("ratio"), row.get("delta")
    if quantity.is_number(ratio):
        return abs(ratio - 1) > LARGE_RELATIVE
    return quantity.is_number(delta) and delta != 0


def _rate(diff: Diff) -> tuple[str, ...]:
    """The step's time per token, which shows whether anything is slower."""
    rate = diff.metric(_RATE)
    if rate is None or rate.delta is None:
        return ()
    return (tr("per token {old} → {new} ms", old=quantity.brief(rate.baseline), new=quantity.brief(rate.new)),)


def _name(row: Row) -> str:
    return safe_text(row.get("name"), 40).removeprefix("workload.")


def _unit(row: Row) -> str:
    unit = row.get("unit")
    return unit if isinstance(unit, str) else ""


def _moved(row: Row) -> str:
    text = f"{_name(row)} {quantity.pair(row.get('baseline'), row.get('new'), _unit(row))}"
    ratio = row.get("ratio")
    return f"{text} ({quantity.change(ratio)})" if quantity.is_number(ratio) else text
