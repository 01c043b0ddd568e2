"""Marks over steps, for pictures in which many stand: dots and lines as one path each.

Paths lie in a box of 1000 × 100 that is stretched to the picture: x is in thousandths of the width, y in percent of the
height from above. Strokes do not stretch, so a point of no length is a round dot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rlcompare.report.charts.axis import Axis

_FEW = 40


class Dots(NamedTuple):
    """Points as a path; those beyond the axis stand at its edge, as a path of their own. A few are drawn larger."""

    path: str
    beyond: str
    few: bool


class Mark(NamedTuple):
    """A step that is marked; ``at`` is a percentage of the width."""

    at: float
    label: str

    @property
    def is_right(self) -> bool:
        """Whether its label stands left of it, as there is no space to the right."""
        return self.at > 60


def dots_of(steps: Sequence[int], values: Sequence[float], numbers: Axis, heights: Axis) -> Dots:
    """Points of steps."""
    inside: list[str] = []
    beyond: list[str] = []
    for step, value in zip(steps, values, strict=True):
        (inside if heights.holds(value) else beyond).append(f"M{place(step, value, numbers, heights)}h0")
    return Dots("".join(inside), "".join(beyond), few=len(steps) <= _FEW)


def place(step: float, value: float, numbers: Axis, heights: Axis) -> str:
    """A point of a path."""
    return f"{short(10 * numbers.at(step))} {short(heights.up(value))}"


def short(number: float) -> str:
    """A coordinate, to a hundredth of a percent."""
    return f"{number:.2f}".rstrip("0").rstrip(".") if math.isfinite(number) else "0"
