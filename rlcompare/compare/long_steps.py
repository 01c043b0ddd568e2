"""The few steps of a log in which a timer takes far longer than in the others, and what they make of its mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt

from rlcompare.compare.drift import period_of
from rlcompare.compare.records import LongStep
from rlcompare.model.words import SIDES, SideName

MOST = 0.25
"""Part of the steps up to which they are few."""

OTHER_SIDE = 0.2
"""Part of what such steps add on one side that those of the other side may add."""


@dataclass(frozen=True)
class LongSteps:
    """Steps that take longer on one side, in words, and what they make of the change of the mean.

    Attributes:
        side: the side that has them.
        where: which steps they are.
        at, others: the mean of these steps and of the others of that side, in s.
        delta: by how much the means differ because of them, in s.
        error: the standard error of the change of the others, in s.
    """

    side: SideName
    where: str
    at: float
    others: float
    delta: float
    error: float


def long_steps(rows: Sequence[LongStep]) -> dict[str, LongSteps]:
    """The long steps of each timer that one side alone has, or much longer ones than the other side."""
    by_timer: dict[str, dict[SideName, list[LongStep]]] = {}
    for row in rows:
        by_timer.setdefault(row.name, {side: [] for side in SIDES})[row.side].append(row)
    found = {name: _of_timer(sides) for name, sides in by_timer.items() if all(sides.values())}
    return {name: steps for name, steps in found.items() if steps is not None}


def _of_timer(sides: Mapping[SideName, Sequence[LongStep]]) -> LongSteps | None:
    added = {side: fsum(row.mean - row.other_mean for row in rows) / len(rows) for side, rows in sides.items()}
    side: SideName = "new" if added["new"] > added["baseline"] else "baseline"
    with_long = [row for row in sides[side] if row.steps and row.long_mean is not None]
    number = sum(len(row.steps or ()) for row in with_long)
    of_steps = sum(row.of_steps for row in sides[side])
    if not number or number > MOST * of_steps or min(added.values()) > OTHER_SIDE * added[side]:
        return None
    at = fsum((row.long_mean or 0.0) * len(row.steps or ()) for row in with_long) / number
    others = fsum(row.other_mean for row in sides[side]) / len(sides[side])
    errors = [fsum(row.error**2 for row in rows) / len(rows) ** 2 for rows in sides.values()]
    where = _where(with_long[0]) if len(sides[side]) == 1 else f"{number} of {of_steps} steps"
    return LongSteps(side, where, at, others, added["new"] - added["baseline"], sqrt(fsum(errors)))


def _where(row: LongStep) -> str:
    """The steps of one run: the one, those in a row, or how often they come."""
    steps = row.steps or []
    first, last = steps[0], steps[-1]
    if len(steps) == 1:
        return f"step {first}"
    if last - first == len(steps) - 1:
        if first == row.first:
            return f"the steps up to {last}"
        return f"the steps from {first} {'on' if last == row.last else f'to {last}'}"
    period = period_of(steps, row.first, row.last)
    return f"one step of every {period}" if period else f"{len(steps)} of {row.of_steps} steps"
