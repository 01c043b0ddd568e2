"""Formats numbers. This is the only place that turns a value and its unit into text.

Units are those of ``model.diff``: ms, s, bytes, ratio, count or none. ``—`` means absent, or that there is no ratio,
as a value is negative. ``from 0`` means that the baseline is 0. Bytes are shown in KiB, MiB, … (powers of 1024).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TypeGuard, overload

from rlcompare.language import mark, tr
from rlcompare.model.diff import Value
from rlcompare.model.digits import LARGE, grouped
from rlcompare.model.size import in_binary_unit
from rlcompare.text import safe_text

ABSENT = "—"
FROM_ZERO = mark("from 0")

_TIME_UNITS = ("ms", "s")
_TIMES_FROM = 2.0
_NOT_ZERO = re.compile("[1-9]")
SECONDS_FROM = 10_000.0
"""Times of at least this many milliseconds are shown in seconds."""

_MOST_DECIMALS = 9
_WHOLE_FROM = 999.5
"""Three digits of larger numbers would be a power of ten."""


def decimals_for(values: Iterable[Value]) -> int:
    """Decimals for a column of times in ms: down to the microsecond, fewer if values are large.

    Four if they are so large that they are shown in seconds.
    """
    largest = max((abs(value) for value in values if is_number(value)), default=0.0)
    return 3 if largest < 1000 else 2 if largest < SECONDS_FROM else 4


def shown_unit(unit: str, values: Iterable[Value]) -> str:
    """The unit in which values are shown: milliseconds become seconds if one of them is ten seconds or more."""
    largest = max((abs(value) for value in values if is_number(value)), default=0.0)
    return "s" if unit == "ms" and largest >= SECONDS_FROM else unit


@overload
def in_unit(value: float | None, unit: str, shown: str) -> float | None: ...
@overload
def in_unit(value: Value, unit: str, shown: str) -> Value: ...
def in_unit(value: Value, unit: str, shown: str) -> Value:
    """A value converted to the unit that ``shown_unit`` chose."""
    return value / 1e3 if is_number(value) and (unit, shown) == ("ms", "s") else value


def amount(value: Value, unit: str, decimals: int | None = None) -> str:
    """A value without its unit, for use below a heading that has the unit; bytes always have theirs."""
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return tr("yes") if value else tr("no")
    if isinstance(value, str):
        return safe_text(value)
    if unit == "bytes":
        return _bytes(value)
    if abs(value) >= LARGE:
        return grouped(value)
    if unit == "count" and abs(value) >= _WHOLE_FROM:
        return grouped(value)
    if unit in _TIME_UNITS:
        return _no_minus_zero(grouped(value, lone_decimals(value) if decimals is None else decimals))
    return _general(value)


def quantity(value: Value, unit: str, decimals: int | None = None) -> str:
    """A value with its unit; if ``decimals`` is given, in the given unit."""
    shown = unit if decimals is not None else shown_unit(unit, (value,))
    text = amount(in_unit(value, unit, shown), shown, decimals)
    return f"{text} {shown}" if shown in _TIME_UNITS and is_number(value) else text


def signed(value: float | None, unit: str, decimals: int | None = None) -> str:
    """A difference without its unit, with a sign unless it rounds to 0."""
    if value is None:
        return ABSENT
    text = amount(value, unit, decimals)
    return f"+{text}" if value > 0 and _is_something(text) else text


def signed_quantity(value: float | None, unit: str, decimals: int | None = None) -> str:
    """A difference with its unit; if ``decimals`` is given, in the given unit."""
    shown = unit if decimals is not None else shown_unit(unit, (value,))
    text = signed(in_unit(value, unit, shown), shown, decimals)
    return f"{text} {shown}" if shown in _TIME_UNITS and value is not None else text


def beside(value: Value, unit: str, among: Iterable[Value]) -> str:
    """A value with the unit and the decimals of the values shown beside it."""
    shown, decimals = _shared(unit, tuple(among))
    return quantity(in_unit(value, unit, shown), shown, decimals)


def moved(value: float | None, unit: str, among: Iterable[Value]) -> str:
    """A difference with the unit and the decimals of the values shown beside it."""
    shown, decimals = _shared(unit, tuple(among))
    return signed_quantity(in_unit(value, unit, shown), shown, decimals)


def _shared(unit: str, among: tuple[Value, ...]) -> tuple[str, int]:
    """The unit and the decimals of values that are shown beside each other."""
    shown = shown_unit(unit, among)
    return shown, decimals_beside(among, unit, shown)


def brief(value: Value) -> str:
    """A number without a unit in three digits, or all digits of its whole part."""
    if not is_number(value):
        return amount(value, "")
    return grouped(value) if abs(value) >= _WHOLE_FROM else _no_minus_zero(f"{value:.3g}")


def lone_decimals(value: float) -> int:
    """Decimals of a time that stands alone: at least three digits."""
    size = abs(value)
    if 0 < size < 1:
        return min(2 - math.floor(math.log10(size)), _MOST_DECIMALS)
    return 2 if 1 <= size < 100 else 1


def decimals_beside(values: Iterable[Value], unit: str, shown: str) -> int:
    """Decimals of times that stand beside each other, in the unit ``shown``: those of the largest one."""
    largest = in_unit(max((abs(value) for value in values if is_number(value)), default=0.0), unit, shown)
    return lone_decimals(largest or 0.0)


def pair(baseline: Value, new: Value, unit: str) -> str:
    """``baseline → new`` with one unit and the same decimals, those of the larger one."""
    if unit in _TIME_UNITS:
        shown, decimals = _shared(unit, (baseline, new))
        values = (in_unit(value, unit, shown) for value in (baseline, new))
        return f"{' → '.join(amount(value, shown, decimals) for value in values)} {shown}"
    if unit == "bytes" and is_number(baseline) and is_number(new):
        smaller, larger = sorted((abs(baseline), abs(new)))
        like = larger if larger < 1024 * smaller else None  # else the smaller one would round to 0
        return f"{_bytes(baseline, like)} → {_bytes(new, like)}"
    return f"{amount(baseline, unit)} → {amount(new, unit)}"


def change(ratio: float | None) -> str:
    """A ratio new / baseline as a change: ``+18.0 %``; ``×3.4`` for ratios of 2 or more; ``from 0`` without a ratio."""
    if ratio is None:
        return tr(FROM_ZERO)
    if ratio >= _TIMES_FROM:
        return f"×{grouped(ratio, 1 if ratio >= 10 else 2)}"
    text = f"{(ratio - 1) * 100:+.1f} %"
    return "0.0 %" if text in ("+0.0 %", "-0.0 %") else text


def change_of(delta: float | None, ratio: float | None, baseline: float | None) -> str:
    """A change as a fraction of the baseline.

    ``from 0`` if the baseline is 0, ``—`` if there is no ratio for another reason: unknown or negative values.
    """
    if ratio is None and delta != 0:
        return tr(FROM_ZERO) if delta is not None and baseline == 0 else ABSENT
    return change(1.0 if delta == 0 else ratio)


def share(value: float | None) -> str:
    """A fraction in percent, without decimals."""
    return ABSENT if value is None else _no_minus_zero(f"{value * 100:.0f} %")


def is_number(value: Value) -> TypeGuard[float]:
    """True for values that can be calculated with; a boolean is not a number here."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _general(value: float) -> str:
    if float(value).is_integer():
        return f"{int(value):,}"
    size = abs(value)
    if size >= 1000:
        return grouped(value, 1)
    return f"{value:.4g}"


def _bytes(value: float, like: float | None = None) -> str:
    """A number of bytes in its own unit, or in that of another number."""
    size, unit = in_binary_unit(like or value)
    if like:
        size *= value / like
    return _no_minus_zero(f"{grouped(size, 0 if unit == 'B' else 2)} {unit}")


def _is_something(text: str) -> bool:
    return _NOT_ZERO.search(text) is not None


def _no_minus_zero(text: str) -> str:
    return text[1:] if text.startswith("-") and not _is_something(text) else text
