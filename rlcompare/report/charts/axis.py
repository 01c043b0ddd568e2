"""Axes of pictures: where a value stands, and round numbers to label them with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rlcompare.report import quantity

WHOLE = (1.0, 2.0, 5.0, 10.0)
"""Digits of round numbers whose multiples need no further decimal."""

_FAR = 4.0
"""A value so many times the usual spread away from most others is drawn at the edge."""

_LEAST_SIZE = 1e-300
_LEAST_PART = 1e-12
"""Values that are no further apart, absolutely or as a part of the largest, are one point: there are too few
floating-point numbers between them for an axis."""

_FEW = 8
"""Values up to which none is called far."""


class Tick(NamedTuple):
    """A labelled place; ``at`` is a percentage of the axis."""

    at: float
    label: str


class Axis(NamedTuple):
    """A linear axis from ``low`` to ``high``, in the unit of its values."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """The place of a value, as a percentage; values beyond an end stand there."""
        return 100 * (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)

    def up(self, value: float) -> float:
        """The place from above, for an axis that points up."""
        return 100 - self.at(value)

    def holds(self, value: float) -> bool:
        """Whether the value is on the axis."""
        return self.low <= value <= self.high

    def farthest(self, values: Iterable[float]) -> float | None:
        """The value farthest beyond an end; None if all are on the axis."""
        beyond = [value for value in values if not self.holds(value)]
        return max(beyond, key=lambda value: max(self.low - value, value - self.high), default=None)

    def ticks(self, unit: str, most: int = 5) -> tuple[Tick, ...]:
        """Round numbers on the axis, at most about ``most``, the same decimals for all."""
        shown = quantity.shown_unit(unit, (self.low, self.high))
        low, high = (quantity.in_unit(value, unit, shown) or 0.0 for value in (self.low, self.high))
        step = round_step((high - low) / max(most - 1, 1))
        decimals = max(0, (1 if _is_quarter(step) else 0) - math.floor(math.log10(step) + 1e-9))
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        suffix = f" {shown}" if shown in ("ms", "s") else ""
        return tuple(
            Tick(100 * (number * step - low) / (high - low), f"{_plain(number * step, decimals, unit)}{suffix}")
            for number in range(first, last + 1)
        )


def axis_of(values: Iterable[float], margin: float = 0.04) -> Axis:
    """An axis for these values. Single values far from all others are left beyond its ends."""
    found = sorted(value for value in values if math.isfinite(value))
    if not found:
        return Axis(0.0, 1.0)
    low, high = _usual(found)
    if is_point(low, high):
        around = abs(low) * 0.1 if abs(low) > _LEAST_SIZE else 1.0
        return Axis(low - around, high + around)
    space = (high - low) * margin
    return Axis(low - space, high + space)


def is_point(low: float, high: float) -> bool:
    """Whether two values are too close for an axis between them."""
    return high - low <= max(_LEAST_SIZE, _LEAST_PART * max(abs(low), abs(high)))


def step_axis(steps: Sequence[int]) -> Axis:
    """The axis of step numbers."""
    first, last = min(steps, default=0), max(steps, default=1)
    if last - first >= 50:
        return Axis(first, last)
    low, high = first - 0.5, last + 0.5
    return Axis(low, high) if low < high else axis_of((first,))


def step_ticks(axis: Axis, most: int = 8) -> tuple[Tick, ...]:
    """Whole numbers on an axis of steps."""
    step = max(1, round(round_step((axis.high - axis.low) / most)))
    first, last = math.ceil(axis.low / step), math.floor(axis.high / step)
    return tuple(Tick(axis.at(number * step), f"{number * step}") for number in range(first, last + 1))


def _usual(values: Sequence[float]) -> tuple[float, float]:
    """The range of sorted values without single ones that would press all others together."""
    low, high = values[0], values[-1]
    if len(values) <= _FEW:
        return low, high
    lower, upper = (values[round((len(values) - 1) * part)] for part in (0.05, 0.95))
    spread = upper - lower
    if spread <= 0:
        return low, high
    return max(low, lower - spread if low < lower - _FAR * spread else low), min(
        high, upper + spread if high > upper + _FAR * spread else high
    )


def round_step(size: float, digits: Sequence[float] = (1.0, 2.0, 2.5, 5.0, 10.0)) -> float:
    """The least round number that is not below a size, nor below 1e-300: one of these digits times a power of ten."""
    size = max(size, _LEAST_SIZE)
    power = 10.0 ** math.floor(math.log10(size))
    return next(digit * power for digit in digits if digit * power >= size * (1 - 1e-9))


def _is_quarter(step: float) -> bool:
    return math.isclose(step / 10.0 ** math.floor(math.log10(step) + 1e-9), 2.5)


def _plain(value: float, decimals: int, unit: str) -> str:
    if unit == "bytes":
        return quantity.amount(value, unit)
    if abs(value) >= 1e6 or decimals > 6:
        return f"{value:.3g}"
    text = f"{value:,.{decimals}f}"
    return text if any(digit in text for digit in "123456789") else text.removeprefix("-")
