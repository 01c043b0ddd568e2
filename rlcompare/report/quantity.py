"""How numbers are written: the one place that turns a value and its unit into a text.

Units are those of ``model.diff``: ms, s, bytes, ratio, count or none. ``—`` stands for what is absent,
``~`` where nothing can be said (a change from zero, for example). Bytes are shown in KiB, MiB, … (powers of 1024).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

from rlcompare.model.diff import Value
from rlcompare.report.text import safe_text

ABSENT = "—"
UNDECIDED = "~"

_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_TIME_UNITS = ("ms", "s")
_TIMES_FROM = 2.0
_LARGE = 1e15


def decimals_for(values: Iterable[Value]) -> int:
    """Decimals with which a column of times is written: down to the microsecond, fewer where the values are large."""
    largest = max((abs(value) for value in values if is_number(value)), default=0.0)
    return 3 if largest < 1000 else 2 if largest < 10_000 else 1


def amount(value: Value, unit: str, decimals: int | None = None) -> str:
    """A value without its unit, where the unit stands elsewhere (a column's heading); bytes carry theirs."""
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return safe_text(value)
    if unit == "bytes":
        return _bytes(value)
    if abs(value) >= _LARGE:
        return f"{value:.4g}"
    if unit in _TIME_UNITS:
        return _no_minus_nought(f"{value:,.{lone_decimals(value) if decimals is None else decimals}f}")
    return _general(value)


def quantity(value: Value, unit: str, decimals: int | None = None) -> str:
    """A value with its unit."""
    text = amount(value, unit, decimals)
    return f"{text} {unit}" if unit in _TIME_UNITS and is_number(value) else text


def signed(value: float | None, unit: str, decimals: int | None = None) -> str:
    """A difference without its unit: always with a sign, but for what rounds to nought."""
    if value is None:
        return ABSENT
    text = amount(value, unit, decimals)
    return f"+{text}" if value > 0 and _is_something(text) else text


def signed_quantity(value: float | None, unit: str, decimals: int | None = None) -> str:
    """A difference with its unit."""
    text = signed(value, unit, decimals)
    return f"{text} {unit}" if unit in _TIME_UNITS and value is not None else text


def brief(value: Value) -> str:
    """A number without a unit in three digits."""
    return _no_minus_nought(f"{value:.3g}") if is_number(value) else amount(value, "")


def lone_decimals(value: float) -> int:
    """Decimals of a time that stands alone: at least three digits."""
    size = abs(value)
    return 1 if size >= 100 or size == 0 else 2 if size >= 1 else 3 if size >= 0.001 else 6


def pair(baseline: Value, new: Value, unit: str) -> str:
    """``baseline → new`` with one unit and the same decimals, those of the larger one."""
    if unit in _TIME_UNITS:
        decimals = lone_decimals(max((abs(value) for value in (baseline, new) if is_number(value)), default=0))
        return f"{amount(baseline, unit, decimals)} → {amount(new, unit, decimals)} {unit}"
    return f"{amount(baseline, unit)} → {amount(new, unit)}"


def change(ratio: float | None) -> str:
    """A ratio new / baseline as a change: ``+18.0 %``, from two on as ``×3.4``; ``~`` where there is none."""
    if ratio is None:
        return UNDECIDED
    if ratio >= _TIMES_FROM:
        return f"×{ratio:,.{1 if ratio >= 10 else 2}f}"
    text = f"{(ratio - 1) * 100:+.1f} %"
    return "0.0 %" if text in ("+0.0 %", "-0.0 %") else text


def change_of(delta: float | None, ratio: float | None) -> str:
    """A change as a part of the baseline: ``—`` if it is unknown, ``~`` if there was nothing to be a part of."""
    if delta is None and ratio is None:
        return ABSENT
    return change(1.0 if delta == 0 else ratio)


def share(value: float | None) -> str:
    """A part of a whole in percent, without decimals."""
    return ABSENT if value is None else _no_minus_nought(f"{value * 100:.0f} %")


def is_number(value: Value) -> TypeGuard[float]:
    """True for what can be calculated with; a boolean is an answer, not a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _general(value: float) -> str:
    if float(value).is_integer():
        return f"{int(value):,}"
    size = abs(value)
    if size >= 1000:
        return f"{value:,.1f}"
    return f"{value:.4g}"


def _bytes(value: float) -> str:
    size, power = float(value), 0
    while abs(size) >= 1024 and power < len(_BYTE_UNITS) - 1:
        size, power = size / 1024, power + 1
    return _no_minus_nought(f"{size:,.{2 if power else 0}f} {_BYTE_UNITS[power]}")


def _is_something(text: str) -> bool:
    return any(digit in text for digit in "123456789")


def _no_minus_nought(text: str) -> str:
    return text if _is_something(text) else text.removeprefix("-")
