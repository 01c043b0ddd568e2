"""Which metrics a report keeps if there are too many: a job may log a hundred thousand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rlcompare.metrics import entry
from rlcompare.model.diff import Delta

_OURS = ("time.", "phase.", "role.", "memory.", "workload.", "timing_s/step")


def notable(overall: Sequence[Delta], headline: str) -> list[int]:
    """The places of all metrics, what matters most first: known ones before others, then by relative change."""

    def place(number: int) -> tuple[bool, bool, float, int]:
        delta = overall[number]
        known = delta.metric.startswith(_OURS) or entry(delta.metric) is not None
        return delta.metric != headline, not known, -_relative(delta), number

    return sorted(range(len(overall)), key=place)


def chosen(overall: Sequence[Delta], places: Iterable[int]) -> tuple[Delta, ...]:
    """The metrics at these places, in their own order."""
    return tuple(overall[place] for place in sorted(places))


def _relative(delta: Delta) -> float:
    values = [abs(value) for value in (delta.baseline, delta.new) if value is not None and math.isfinite(value)]
    change = delta.delta
    return abs(change) / max(values) if change is not None and math.isfinite(change) and any(values) else 0.0
