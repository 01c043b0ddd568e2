"""The numbers of the picture of a step: what took its time, by phase and by kind, on both sides.

Three sources, the best that a diff has: the account (of the critical path where there is one), in which every
nanosecond has a reason; the phases, from training's timers or from marks; the step's parts on the device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from rlcompare.compare.overall import OUTSIDE, PATH
from rlcompare.language import tr
from rlcompare.metrics.catalogue import entries
from rlcompare.model.diff import Delta, Diff, Row, Value
from rlcompare.model.words import SIDES, SideName
from rlcompare.report.quantity import is_number
from rlcompare.report.step_parts import number_of
from rlcompare.report.tone import PROFILED_STEPS
from rlcompare.text import safe_text

SMALL = 0.005
"""Parts below this fraction of the longer step, on both sides, are shown together."""

MOST_PHASES = 10
NAME_LIMIT = 60

WHOLE, OTHER = "whole", "other"
"""Kinds of a phase that is not divided, and of small kinds together."""

_KINDS = {
    "compute": "compute",
    "transfer": "transfer",
    "wait": "wait",
    "comm": "comm",
    "copy": "copy",
    "queue": "queue",
    "launch": "launch",
    "late start": "start",
    "between steps": "start",
    "free": "free",
    "unknown": "unknown",
}
"""Kinds of rows of the account, by the kind that is drawn. All others are reasons on the host."""

_DEVICE = ("compute", "transfer", "wait", "comm", "copy", "queue", "launch")
KINDS = (*_DEVICE, "host", "free", "start", "unknown", OTHER, WHOLE)
"""In the order in which they are drawn."""

_SAME = 1e-6
_MS = {"ms": 1.0, "s": 1e3}


class Part(NamedTuple):
    """A kind of time in a phase, in ms per step."""

    phase: str
    kind: str
    baseline: float
    new: float

    def value(self, side: SideName) -> float:
        """Its time on a side."""
        return self.baseline if side == "baseline" else self.new


class Group(NamedTuple):
    """A row of the picture: a phase with its kinds, or a kind."""

    name: str
    parts: tuple[Part, ...]

    def value(self, side: SideName) -> float:
        """Its time on a side."""
        return math.fsum(part.value(side) for part in self.parts)


class StepAccount(NamedTuple):
    """What took the time of a step.

    Attributes:
        title: which step it is.
        note: where the numbers come from.
        groups: its phases in the order of a step, or its kinds if there are no phases.
        by_phase: whether the groups are phases.
        sides: the sides that have one.
        profiled: whether it is that of a profile.
    """

    title: str
    note: str
    groups: tuple[Group, ...]
    by_phase: bool
    sides: tuple[SideName, ...]
    profiled: bool

    def total(self, side: SideName) -> float | None:
        """The time of the step; None if the side has none."""
        return math.fsum(group.value(side) for group in self.groups) if side in self.sides else None

    def kinds(self) -> tuple[Group, ...]:
        """The same time by kind."""
        return _grouped((part for group in self.groups for part in group.parts), lambda part: part.kind, KINDS.index)


def accounts_of(diff: Diff) -> tuple[StepAccount, ...]:
    """What the step of the headline consists of; then what a profiled step does, if that is another one."""
    profiled = _of_account(diff)
    phases = _of_phases(diff)
    if profiled is None:
        found = phases or _of_parts(diff)
        return () if found is None else (found,)
    if phases is None or _is_headline(diff, profiled) or not _is_headline(diff, phases):
        return (profiled,)
    return phases, profiled


def _is_headline(diff: Diff, account: StepAccount) -> bool:
    headline = diff.metric(diff.headline)
    if headline is None or headline.unit not in _MS:
        return False
    pairs = ((account.total(side), headline.value(side)) for side in SIDES)
    return all(
        here is None or there is None or abs(here - there * _MS[headline.unit]) <= _SAME * abs(here)
        for here, there in pairs
    )


def _of_account(diff: Diff) -> StepAccount | None:
    path = _all_rows(diff, "path")
    rows = path or _all_rows(diff, "account")
    sides = _sides_of(rows)
    if not sides:
        return None
    parts = _parts_of(rows)
    timed = diff.headline not in (PATH, "time.step", "time.device_span")
    if path:
        title = tr("The job's profiled step") if timed else tr("The job's step")
        note = tr("Along the critical path: on each rank while the others waited for it.")
    elif _is_known(diff.metric("time.step")):
        title = tr("The profiled step") if timed else tr("The step")
        note = tr("Every nanosecond has one reason. The mean over ranks.")
    else:
        title = tr("The device's part of the profiled step") if timed else tr("The device's part of the step")
        note = tr("From the first task of a device to its last: no step is marked. The mean over ranks.")
    if any(part.phase != OUTSIDE for part in parts):
        note += " " + tr("A kernel counts in the phase that launched it: wall times of phases on the host differ.")
    return _made(title, note, parts, sides, profiled=True)


def _all_rows(diff: Diff, name: str) -> tuple[Row, ...]:
    """The rows of a section, and the sums of those that its document leaves out."""
    section = diff.sections.get(name)
    if section is None:
        return ()
    left: tuple[Row, ...] = tuple(
        {
            "name": tr("not in this file"), "kind": rest.kind, "phase": rest.phase, "baseline": rest.baseline,
            "new": rest.new,
        }
        for rest in section.rest
    )  # fmt: skip
    return (*section.rows, *left)


def _parts_of(rows: Iterable[Row]) -> list[Part]:
    """The rows of an account, which may be many, by phase and kind."""
    sums: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    for row in rows:
        key = str(row.get("phase") or OUTSIDE), _KINDS.get(str(row.get("kind")), "host")
        baseline, new = sums.setdefault(key, ([], []))
        baseline.append(number_of(row.get("baseline")))
        new.append(number_of(row.get("new")))
    return [Part(*key, math.fsum(baseline), math.fsum(new)) for key, (baseline, new) in sums.items()]


def _of_phases(diff: Diff) -> StepAccount | None:
    rows = _all_rows(diff, "phases")
    sides = _sides_of(rows)
    if not sides or all(row.get("name") in (OUTSIDE, None) for row in rows):
        return None
    walls = any(row.get("kind") == "wall" for row in rows)
    timed = diff.headline not in ("time.phases", *PROFILED_STEPS)
    divided = not timed and all(_is_divided(row, sides) for row in rows)
    parts = [part for row in rows for part in (_device_parts(row) if divided else (_whole(row),))]
    if timed:
        title, note = tr("The step, timed by training"), tr("Training's timers, without a profiler where possible.")
    elif walls:
        title, note = tr("The phases of the step"), tr("Wall time on the host.")
    else:
        title, note = tr("The phases of the step"), tr("Time on the device.")
    return _made(title, note, parts, sides, profiled=not timed)


def _is_divided(row: Row, sides: Sequence[SideName]) -> bool:
    """Whether the device's times of a phase are known, and fit into it."""
    return all(
        all(is_number(row.get(f"{side}_{what}")) for what in ("compute", "exposed_comm", "free"))
        and math.fsum(number_of(row.get(f"{side}_{what}")) for what in ("compute", "exposed_comm", "free"))
        <= number_of(row.get(side)) * (1 + _SAME)
        for side in sides
    )


def _whole(row: Row) -> Part:
    return Part(str(row.get("name") or OUTSIDE), WHOLE, *map(number_of, _pair(row)))


def _device_parts(row: Row) -> Iterable[Part]:
    name, left = str(row.get("name") or OUTSIDE), [number_of(value) for value in _pair(row)]
    for what, kind in (("compute", "compute"), ("exposed_comm", "comm"), ("free", "free")):
        values = [number_of(row.get(f"{side}_{what}")) for side in SIDES]
        left = [rest - value for rest, value in zip(left, values, strict=True)]
        yield Part(name, kind, *values)
    yield Part(name, "host", *left)


_STEP_PARTS = (
    ("time.preparing", "host"),
    ("time.compute", "compute"),
    ("time.exposed_comm", "comm"),
    ("time.free", "free"),
    ("time.tail", "host"),
)


def _of_parts(diff: Diff) -> StepAccount | None:
    marked = _is_known(diff.metric("time.step"))
    found = [(kind, delta) for name, kind in _STEP_PARTS if (delta := diff.metric(name)) and (marked or kind != "host")]
    sides = tuple(side for side in SIDES if any(delta.value(side) for _, delta in found))
    if not sides:
        return None
    parts = [Part(OUTSIDE, kind, delta.baseline or 0.0, delta.new or 0.0) for kind, delta in found]
    title = tr("The step") if marked else tr("The device's part of the step")
    return _made(title, tr("The mean over ranks."), parts, sides, profiled=True)


def _is_known(delta: Delta | None) -> bool:
    return delta is not None and (delta.baseline is not None or delta.new is not None)


def _sides_of(rows: Iterable[Row]) -> tuple[SideName, ...]:
    found = list(rows)
    return tuple(side for side in SIDES if any(number_of(row.get(side)) for row in found))


def _pair(row: Row) -> tuple[Value, ...]:
    return tuple(row.get(side) for side in SIDES)


def _made(
    title: str, note: str, parts: Iterable[Part], sides: tuple[SideName, ...], *, profiled: bool
) -> StepAccount | None:
    found = [part for part in parts if math.isfinite(part.baseline) and math.isfinite(part.new)]
    longest = max(math.fsum(part.value(side) for part in found) for side in sides)
    if longest <= 0:
        return None
    found = _few_kinds(found, longest)
    phases = _grouped(found, lambda part: part.phase, _order_of(found))
    by_phase = len(phases) > 1
    groups = _few_phases(phases, longest) if by_phase else _grouped(found, lambda part: part.kind, KINDS.index)
    return StepAccount(title, note, groups, by_phase, sides, profiled)


def _few_kinds(parts: Sequence[Part], longest: float) -> list[Part]:
    """The parts, with small kinds as one."""
    sums = _grouped(parts, lambda part: part.kind, KINDS.index)
    small = {group.name for group in sums if _is_small(group, longest)}
    if len(small) < 2:
        return list(parts)
    return [Part(part.phase, OTHER if part.kind in small else part.kind, part.baseline, part.new) for part in parts]


def _few_phases(phases: Sequence[Group], longest: float) -> tuple[Group, ...]:
    """The phases, with small ones, and those beyond the largest ones, as the last."""
    largest = sorted(phases, key=lambda phase: -max(abs(phase.value(side)) for side in SIDES))[:MOST_PHASES]
    small = [phase for phase in phases if _is_small(phase, longest) or phase not in largest]
    if len(small) < 2:
        return tuple(phases)
    merged = [Part("", part.kind, part.baseline, part.new) for phase in small for part in phase.parts]
    name = tr("{n} small phases", n=len(small))
    kinds = (group.parts[0] for group in _grouped(merged, lambda part: part.kind, KINDS.index))
    return (*(phase for phase in phases if phase not in small), Group(name, tuple(kinds)))


def _is_small(group: Group, longest: float) -> bool:
    return all(abs(group.value(side)) < SMALL * longest for side in SIDES)


def _grouped(parts: Iterable[Part], key: Callable[[Part], str], order: Callable[[str], object]) -> tuple[Group, ...]:
    """The parts by key, those of one phase and kind as one."""
    found: dict[str, dict[tuple[str, str], list[Part]]] = {}
    for part in parts:
        found.setdefault(key(part), {}).setdefault((part.phase, part.kind), []).append(part)
    groups = []
    for name in sorted(found, key=order):  # type: ignore[arg-type]
        sums = [
            Part(phase, kind, math.fsum(part.baseline for part in same), math.fsum(part.new for part in same))
            for (phase, kind), same in found[name].items()
        ]
        groups.append(Group(name, tuple(sorted(sums, key=lambda part: KINDS.index(part.kind)))))
    return tuple(groups)


def _order_of(parts: Iterable[Part]) -> Callable[[str], tuple[int, float, str]]:
    """Phases in the order of a step; those of the user's own after them, the longest first; what is in none, last."""
    sizes: dict[str, list[float]] = {}
    for part in parts:
        sizes.setdefault(part.phase, []).append(max(part.baseline, part.new))
    known = _known_phases()

    def order(phase: str) -> tuple[int, float, str]:
        if phase == OUTSIDE:
            return len(known) + 1, 0.0, phase
        return known.get(phase, len(known)), -math.fsum(sizes[phase]), phase

    return order


@cache
def _known_phases() -> Mapping[str, int]:
    """Phases of an RL step by their place in it: that of their timers in the catalogue."""
    names = dict.fromkeys(entry.phase for entry in entries() if entry.phase)
    return {name: place for place, name in enumerate(names)}


def shown_name(name: str) -> str:
    """The name of a phase, safe to show."""
    return tr("outside of phases") if name == OUTSIDE else safe_text(name, NAME_LIMIT)
