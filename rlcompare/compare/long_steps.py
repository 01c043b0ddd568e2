"""The few steps of a log in which a timer takes far longer than in the others, and what they make of its mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, sqrt
from statistics import fmean

from rlcompare.compare.drift import period_of
from rlcompare.compare.records import LongStep
from rlcompare.model.words import SIDES, SideName

MOST = 0.25
"""Part of the steps up to which they are few."""

HELD = 0.9
"""The steps that are named hold this part of what all long steps add."""

ALIKE = 3.0
"""Steps are told by one mean if what the longest adds is at most so many times what the shortest adds."""


@dataclass(frozen=True)
class LongSteps:
    """Steps that take longer on one side, in words, and what they make of the change of the mean.

    Attributes:
        side: the side that has them.
        where: which steps they are.
        at, others: the mean of these steps and of the others of that side, in s.
        delta: by how much the means of the sides differ because of long steps, in s.
        error: the standard error of the change of the others, in s.
    """

    side: SideName
    where: str
    at: float
    others: float
    delta: float
    error: float


@dataclass(frozen=True)
class _Long:
    """A long step.

    Attributes:
        row: the run that it is in.
        added: s that it adds to the mean of its side.
    """

    row: LongStep
    step: int
    seconds: float
    added: float


def long_steps(rows: Sequence[LongStep]) -> dict[str, LongSteps]:
    """For each timer the fewest steps that make up what long steps change, if one side alone has them."""
    by_timer: dict[str, dict[SideName, list[LongStep]]] = {}
    for row in rows:
        by_timer.setdefault(row.name, {side: [] for side in SIDES})[row.side].append(row)
    found = {name: _of_timer(sides) for name, sides in by_timer.items() if all(sides.values())}
    return {name: steps for name, steps in found.items() if steps is not None}


def _of_timer(sides: Mapping[SideName, Sequence[LongStep]]) -> LongSteps | None:
    means = {side: fmean(row.mean - row.other_mean for row in rows) for side, rows in sides.items()}
    delta = means["new"] - means["baseline"]
    side, other = SIDES[::-1] if delta > 0 else SIDES
    rows = sides[side]
    known: dict[int, float] = defaultdict(float)
    for one in _long(sides[other]):
        known[one.step] += one.added / len(rows)
    named: list[_Long] = []
    long = [replace(one, added=one.added - known[one.step]) for one in _long(rows)]
    for one in sorted(long, key=lambda one: (-one.added, one.row.run, one.step)):
        if fsum(one.added for one in named) >= HELD * abs(delta):
            break
        named.append(one)
    of_steps = sum(row.of_steps for row in rows)
    if not named or len(named) > MOST * of_steps or named[-1].added * ALIKE < named[0].added:
        return None
    seconds = fsum(one.seconds for one in named)
    whole = fsum(row.mean * row.of_steps for row in rows)
    errors = [fsum(row.error**2 for row in rows) / len(rows) ** 2 for rows in sides.values()]
    return LongSteps(
        side,
        _where(sorted(one.step for one in named), named[0].row, of_steps, len(rows)),
        seconds / len(named),
        (whole - seconds) / (of_steps - len(named)),
        delta,
        sqrt(fsum(errors)),
    )


def _long(rows: Sequence[LongStep]) -> Iterator[_Long]:
    """The long steps of a side, with all that they add to its mean."""
    for row in rows:
        for step, seconds in zip(row.steps or (), row.amounts or (), strict=True):
            yield _Long(row, step, seconds, (seconds - row.other_mean) / row.of_steps / len(rows))


def _where(steps: Sequence[int], row: LongStep, of_steps: int, runs: int) -> str:
    """The one step, those in a row, or how often they come.

    Args:
        row: the run, if it is the only one of its side.
        of_steps: the number of steps of all runs.
    """
    first, last = steps[0], steps[-1]
    if runs == 1 and len(steps) == 1:
        return f"step {first}"
    if runs == 1 and last - first == len(steps) - 1:
        if first <= row.first + 1:  # the first step is warm-up
            return f"the steps up to {last}"
        return f"the steps from {first} {'on' if last == row.last else f'to {last}'}"
    period = period_of(steps, row.first, row.last) if runs == 1 else None
    return f"one step of every {period}" if period else f"{len(steps)} of {of_steps} steps"
