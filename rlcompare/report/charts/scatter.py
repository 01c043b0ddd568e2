"""Dots on two logarithmic axes, both sides, those that moved joined by an arrow.

Positions are percentages of the drawing, so that texts keep their size however wide it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rlcompare.model.words import SideName
from rlcompare.report.charts.axis import Tick

APART = 1.5
"""Distance in percent from which two dots are joined by an arrow."""

DRAWN = (1e-12, 1e24)
"""Least and largest value that is drawn; others are damaged, or a diff.json that somebody made up."""

NEAR = (4.0, 5.0)
"""Distances in percent, across and down, within which dots share a label."""

_MOST_TICKS = 7
_FINEST = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)
"""So close that each axis has one of them, even that of a single value."""


class Axis(NamedTuple):
    """An axis from ``low`` to ``high``; ticks from left to right, or from top to bottom."""

    title: str
    low: float
    high: float
    ticks: tuple[Tick, ...]


class Dot(NamedTuple):
    """One side of one subject; ``shape`` is one of ``SHAPES``."""

    x: float
    y: float
    side: SideName
    shape: str
    text: str


class Move(NamedTuple):
    """From the dot of the baseline to that of the new side."""

    x1: float
    y1: float
    x2: float
    y2: float


class Level(NamedTuple):
    """A horizontal line, such as the peak of the chip; its label stands above or below it."""

    y: float
    label: str
    above: bool = True


class Label(NamedTuple):
    """A text below one or several dots that are close together: ``x`` is their middle, ``y`` the lowest of them."""

    x: float
    y: float
    text: str


class Scatter(NamedTuple):
    """What the template draws; ``keys`` are shapes and what they stand for, ``named`` explains the labels."""

    x: Axis
    y: Axis
    dots: tuple[Dot, ...]
    moves: tuple[Move, ...]
    levels: tuple[Level, ...]
    keys: tuple[tuple[str, str], ...]
    named: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()


SHAPES = ("circle", "square", "triangle", "diamond", "plus", "cross")


def is_drawn(*values: float) -> bool:
    """Whether all values have a place on a logarithmic axis."""
    return all(DRAWN[0] <= value <= DRAWN[1] for value in values)


def log_axis(title: str, values: Sequence[float], label: Callable[[float], str], **how: bool) -> Axis:
    """An axis that holds all values, which are positive.

    Args:
        how: ``downwards``: large values are at the top; ``binary``: ticks at powers of two, for bytes.
    """
    low, high = math.log10(min(values)), math.log10(max(values))
    margin = max((high - low) * 0.06, 0.12)
    axis = Axis(title, 10 ** (low - margin), 10 ** (high + margin), ())
    found = _powers_of_two(axis) if how.get("binary") else _decimal(axis)
    downwards = how.get("downwards", False)
    return axis._replace(ticks=tuple(Tick(place(axis, value, downwards=downwards), label(value)) for value in found))


def _decimal(axis: Axis) -> list[float]:
    """1, 10, 100, …; where these are too few, also 2 and 5, or all digits, or some between them."""
    powers = range(math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high)) + 1)
    found: list[float] = []
    for digits in ((1,), (1, 2, 5), (1, 2, 3, 4, 5, 6, 7, 8, 9), _FINEST):
        found = [
            digit * 10.0**power for power in powers for digit in digits if axis.low <= digit * 10.0**power <= axis.high
        ]
        if len(found) > 2:
            break
    return found[:: math.ceil(len(found) / _MOST_TICKS)]


def _powers_of_two(axis: Axis) -> list[float]:
    powers = range(math.ceil(math.log2(axis.low)), math.floor(math.log2(axis.high)) + 1)
    if not powers:  # an axis of one size, between two powers
        return [1.5 * 2.0 ** math.floor(math.log2(axis.low))]
    stride = math.ceil(len(powers) / _MOST_TICKS)
    return [2.0**power for power in powers if power % stride == 0]


def place(axis: Axis, value: float, *, downwards: bool = False) -> float:
    """The position of a value in percent."""
    low, high = math.log10(axis.low), math.log10(axis.high)
    at = round(100 * (math.log10(value) - low) / (high - low), 3)
    return round(100 - at, 3) if downwards else at


def joined(dots: Sequence[tuple[Dot | None, Dot | None]]) -> tuple[Move, ...]:
    """Arrows between the two dots of each pair, where they are apart."""
    return tuple(
        Move(old.x, old.y, new.x, new.y)
        for old, new in dots
        if old and new and math.hypot(new.x - old.x, new.y - old.y) >= APART
    )


def labelled(dots: Sequence[Dot]) -> tuple[Label, ...]:
    """The numbers of dots, from 1; those that are too close for two numbers share a label."""
    groups: list[list[tuple[int, Dot]]] = []
    for number, dot in enumerate(dots, 1):
        near = next((group for group in groups if _is_near(group[0][1], dot)), None)
        if near:
            near.append((number, dot))
        else:
            groups.append([(number, dot)])
    return tuple(_label(group) for group in groups)


def _label(group: Sequence[tuple[int, Dot]]) -> Label:
    middle = math.fsum(dot.x for _, dot in group) / len(group)
    return Label(round(middle, 3), max(dot.y for _, dot in group), ", ".join(str(number) for number, _ in group))


def _is_near(one: Dot, other: Dot) -> bool:
    return abs(one.x - other.x) < NEAR[0] and abs(one.y - other.y) < NEAR[1]


def arrow(texts: Sequence[str]) -> str:
    """The texts of the baseline and of the new side, once if they are the same."""
    return " → ".join(dict.fromkeys(texts))
