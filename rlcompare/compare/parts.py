"""The change to explain, and the rows that it consists of: the account of a step, or training's timers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import fsum
from typing import NamedTuple

from rlcompare.compare.evidence import Evidence, has_moved
from rlcompare.compare.overall import OUTSIDE, PATH
from rlcompare.compare.phrases import moved
from rlcompare.compare.rows import number
from rlcompare.compare.timers import (
    MS_PER_S,
    OF_ALL_WORKERS,
    OF_WORKERS,
    OUT_OF_WORKERS,
    TELLING,
    InnerTimer,
    TrainingLog,
    netted,
    rest_of,
)
from rlcompare.model.diff import Delta, Row
from rlcompare.model.words import SIDES

WAITING = "wait_for_samples"
"""The phase in which the trainer waits for samples that are generated beside the step."""

ROLLOUT_TIME = "perf/rollout_time"
WHOLE_ROLLOUT = 0.95
"""A wait for samples that is at least this part of the rollout's own time holds all of it: nothing runs beside it."""

COMPUTE, TIMER = "compute", "timer"
"""Kinds of parts: kernels (without a device: operators), and phases that training timed."""

WAIT = "wait"
"""Kind of parts in which the device is in a collective that another rank, the name of the part, has not started."""

COMMUNICATION = frozenset({"comm", WAIT, "transfer"})
"""Kinds of parts in which the device only communicates."""

SAME_CHANGE = 1.5
"""How much larger a change on the path may be than the largest one that a single rank can have."""

OTHER_CHANGE = 0.1
"""Part of the mean change over ranks by which that on the path must differ for a mean to be called one."""

LEAST_OF_WORKERS = 0.3
"""The part of what the mean over workers leaves by which that mean must have changed for the slowest to be like it."""

LATE_START, BETWEEN_STEPS = "late start", "between steps"
"""Kinds of parts of the path: the step has begun on another rank, and not on the rank of the path; no step has."""

FREE = "free"
"""Kind of all time in which the device runs nothing, where only one side marks its steps."""

ON_ONE = 0.8
"""Part of a cause that must come from one member of the runs for it to be named."""

MISMATCH = 0.01
"""Part of the change by which the sum of the account may differ from it. If more, the account covers something else."""

OVERLAPPED = 0.1
"""The same for training's timers: where they overlap, they do not add up to the step. Rounding in logs is less."""

LEAST_OF_PHASE = 0.5
"""The change of the phase that changed most in the profile, as a multiple of its timer's: else the profile saw but a
part of it, or another step."""

LEAST_PROFILED, MOST_PROFILED = 0.25, 4.0
"""The change of the profiled step, as a multiple of the headline's, for which the profile can explain the headline."""


@dataclass(frozen=True)
class Part:
    """A row whose change is part of the change to explain.

    Attributes:
        kind: its kind in the account, or ``TIMER``.
        phase: None outside of all phases, or if no phase is known.
        name: the operator, call, collective or phase.
        baseline, new: ms per step.
        row: the row of the section ``account``, ``path`` or ``phases``; empty if it has none.
        mean_delta: on the critical path, how the same row changed as a mean over ranks, in ms; None if it has no mean.
        mean_moved: the same, but the mean of the sizes of the ranks' changes; None if the sides have different ranks.
        timer: the key in the training log, where training timed it.
        hidden: ms of its change that ``new`` is without, as waiting for samples made up for it, or it for others.
    """

    kind: str
    phase: str | None
    name: str
    baseline: float
    new: float
    row: Row = field(default_factory=dict)
    mean_delta: float | None = None
    mean_moved: float | None = None
    timer: str = ""
    hidden: float = 0.0

    @property
    def delta(self) -> float:
        return self.new - self.baseline

    def mean_along(self, direction: float) -> float:
        """The mean over ranks of the sizes of the changes in this direction: the others count 0."""
        mean = self.mean_delta or 0.0
        sizes = abs(mean) if self.mean_moved is None else self.mean_moved
        return (sizes + (mean if direction > 0 else -mean)) / 2


@dataclass(frozen=True)
class Basis:
    """What causes are made of.

    Attributes:
        change: the change to explain, in ms per step.
        parts: rows whose changes sum to it, as far as they were measured.
        ranks: on the critical path over the ranks, their number; 0 where the parts are means over ranks.
        note: a clause for each sentence if this is not the headline's own change; else empty.
    """

    change: float
    parts: tuple[Part, ...]
    note: str = ""
    ranks: int = 0

    @property
    def sign(self) -> int:
        return 1 if self.change > 0 else -1

    @cached_property
    def operators(self) -> Mapping[str, Mapping[int, Part]]:
        """The parts of each operator, over all phases, by their place in ``parts``."""
        return by_name(self.of_kind(COMPUTE))

    @cached_property
    def computed(self) -> Mapping[str, float]:
        """The change of each operator, over all phases, as a mean over ranks, in ms."""
        return {name: mean_total(parts.values()) for name, parts in self.operators.items()}

    def is_apart(self, parts: Iterable[Part]) -> bool:
        """Whether these parts changed on the path by something else than their mean over ranks tells.

        A change on one rank alone is ``ranks`` times the mean.
        """
        parts = self._with_means(parts)
        delta, mean = total(parts), mean_total(parts)
        return delta * mean < 0 or abs(delta) > SAME_CHANGE * self.ranks * abs(mean)

    def is_more_on_path(self, parts: Iterable[Part]) -> bool:
        """Whether these parts changed on the path by clearly more than on average over ranks."""
        parts = self._with_means(parts)
        return abs(total(parts)) > SAME_CHANGE * abs(mean_total(parts))

    def is_other_on_path(self, parts: Iterable[Part]) -> bool:
        """Whether these parts changed on the path by something else than on average over ranks."""
        parts = self._with_means(parts)
        mean = mean_total(parts)
        return abs(total(parts) - mean) > OTHER_CHANGE * abs(mean)

    def has_moved(self, parts: Iterable[Part]) -> bool:
        """Whether the path has more or less of these parts only because it leads over other ranks than before.

        That is so if no rank's own change can be as large: not even all changes in this direction together are.
        """
        parts = self._with_means(parts)
        delta = total(parts)
        return abs(delta) > SAME_CHANGE * self.ranks * fsum(part.mean_along(delta) for part in parts)

    def _with_means(self, parts: Iterable[Part]) -> Sequence[Part]:
        """The parts of a path, if all of them have means over ranks to compare with; else none, which changed by 0."""
        parts = tuple(parts) if self.ranks else ()
        return parts if all(part.mean_delta is not None for part in parts) else ()

    def of_kind(self, *kinds: str) -> dict[int, Part]:
        """The parts of these kinds, by their place in ``parts``."""
        return {place: part for place, part in enumerate(self.parts) if part.kind in kinds}


class Candidate(NamedTuple):
    """A set of parts, or of fractions of them, that one sentence describes.

    Attributes:
        what: a short stable word (``model.diff.Cause``).
        amounts: ms of the change, by place in ``Basis.parts``.
        text: the sentence, or a function that makes it of the sum of the amounts that no other cause explains.
        section, row: where the evidence is.
        facts: what changed with it, as rows of ``Cause.facts``.
        member: the member of the runs that the sentence is about; else it is found.
        is_broad: whether it is all of a kind of waiting for the host, of many names, which says little of where.
    """

    what: str
    amounts: Mapping[int, float]
    text: str | Callable[[float], str]
    section: str
    row: str
    facts: tuple[Row, ...] = ()
    member: str = ""
    is_broad: bool = False

    @property
    def delta(self) -> float:
        return fsum(self.amounts.values())


def basis_of(evidence: Evidence) -> Basis | None:
    """The change to explain; None if the headline hardly moved or is unknown.

    Training's timers are measured on plain steps, the account on profiled ones. The account counts if the profiled step
    changed in the same direction and to a similar degree.
    """
    headline, profile = evidence.headline, evidence.profile
    if headline is None or headline.delta is None or not has_moved(headline):
        return None
    if profile is not None and headline.metric == profile.metric:
        parts = _measured(evidence, headline.metric, headline.delta)
        return Basis(headline.delta, parts, ranks=_ranks(evidence, headline))
    change = evidence.profile_change
    timed = _timers(evidence) if evidence.timed_phases else ()
    if abs(total(timed) - headline.delta) > OVERLAPPED * abs(headline.delta):
        timed = ()
    is_whole = evidence.times_whole and not evidence.lone_phases
    if change and is_whole and LEAST_PROFILED <= change / headline.delta <= MOST_PROFILED:
        parts = _measured(evidence, profile.metric if profile else "", change)
        if parts and _agree(parts, timed, headline.delta):
            note = f" (of the profiled step, which {moved(change)})"
            return Basis(change, parts, note, _ranks(evidence, profile))
    return Basis(headline.delta, timed or (Part(TIMER, None, headline.metric, *_values(evidence)),))


def _ranks(evidence: Evidence, time: Delta | None) -> int:
    """The number of ranks that a time's path leads over; 0 if it is no path."""
    return len(evidence.sections["ranks"].rows) if time is not None and time.metric == PATH else 0


def _agree(parts: Sequence[Part], timed: Sequence[Part], change: float) -> bool:
    """Whether the phase that changed most by training's timers changed about as much in the account."""
    phases = {part.phase for part in timed if part.name != OUTSIDE}
    if not phases:
        return True
    timers = {phase: total(part for part in timed if part.phase == phase and part.name != OUTSIDE) for phase in phases}
    phase, timer = max(timers.items(), key=lambda item: item[1] / change)
    profiled = total(part for part in parts if part.phase == phase)
    return timer * change > 0 and is_about_as_much(profiled, timer)


def is_about_as_much(profiled: float, timer: float) -> bool:
    """Whether a phase changed about as much in the profile as by training's timer; both in ms."""
    return bool(timer) and LEAST_OF_PHASE <= profiled / timer <= 1 / LEAST_OF_PHASE


def _values(evidence: Evidence) -> tuple[float, float]:
    """The headline's values in ms, which ``basis_of`` has found to be known."""
    headline = evidence.headline
    return (headline.baseline or 0.0, headline.new or 0.0) if headline else (0.0, 0.0)


def _measured(evidence: Evidence, metric: str, change: float) -> tuple[Part, ...]:
    """The parts of a time that the profile measured; none if they do not sum to its change.

    They do not where only one side marked its steps, say: then the account divides something else than the headline.
    """
    if not evidence.same_executor:
        return ()
    if metric == "time.phases":
        return _timers(evidence)
    rows = evidence.sections["account"].rows
    means: dict[_Key, tuple[float | None, float | None]] = {}
    if metric == PATH:
        sizes = {key: moved_by_all for key, (_, _, moved_by_all) in evidence.members.items()}
        means = {key: (mean, sizes.get(key)) for key, mean in evidence.mean_changes.items()}
        means |= {_key(row): (number(row["delta"]), sizes.get(_key(row))) for row in rows}
        rows = evidence.sections["path"].rows
    if metric == "time.comm":
        rows = tuple(row for row in rows if row["kind"] in COMMUNICATION)
    parts = tuple(
        _part(str(row["kind"]), row["phase"], row, *means.get(_key(row), (None, None)))
        for row in rows
        if row["delta"] is not None
    )
    if metric == "time.comm" or _sum_to(parts, change):
        return parts
    parts = _of_span(evidence) if metric == "time.device_span" else ()
    return parts if _sum_to(parts, change) else ()


def _sum_to(parts: Iterable[Part], change: float) -> bool:
    return abs(total(parts) - change) <= MISMATCH * abs(change)


def _of_span(evidence: Evidence) -> tuple[Part, ...]:
    """The span of the device where the account divides the host's steps: its kernels, and the rest without names."""
    kernels = (Part(COMPUTE, None, name, *_busy(rows)) for name, rows in evidence.kernels.items())
    rest = (
        Part(kind, None, name, time.baseline or 0.0, time.new or 0.0)
        for kind, name, metric in (("comm", "communication", "time.exposed_comm"), (FREE, FREE, "time.free"))
        if (time := evidence.metrics.get(metric)) is not None
    )
    return (*kernels, *rest)


def _busy(kernels: Sequence[Row]) -> tuple[float, float]:
    """The time of kernels that no kernel before them hides, on each side, in ms."""
    baseline, new = (fsum(number(row.get(f"{side}_busy_ms")) or 0.0 for row in kernels) for side in SIDES)
    return baseline, new


_Key = tuple[str, str | None, str]


def _key(row: Row) -> _Key:
    """Kind, phase and name of a row of the account."""
    phase = row["phase"]
    return str(row["kind"]), None if phase is None else str(phase), str(row["name"])


def _timers(evidence: Evidence) -> tuple[Part, ...]:
    """The phases by their wall time, divided as training timed them; with ``OUTSIDE`` they sum to the step."""
    rows = evidence.sections["phases"].rows
    phases = (_part(TIMER, row["name"], row) for row in rows if row.get("kind") == "wall" and row["delta"] is not None)
    parts = [part for phase in phases for part in _divided(evidence, phase)]
    return tuple(parts if _waits_for_whole_rollouts(evidence.log, parts) else _without_hidden(parts))


def _of_slowest_worker(log: TrainingLog, inner: Sequence[InnerTimer]) -> Sequence[InnerTimer]:
    """Generation as one timer, where it is known as a mean over workers, and the slowest one changed likewise."""
    mean = next((timer for timer in inner if timer.name == OF_WORKERS), None)
    rest = inner[-1]
    if mean is None or rest.part != OUT_OF_WORKERS:
        return inner
    change, left = mean.new - mean.baseline, rest.new - rest.baseline
    if change * left <= 0 or abs(change) <= max(TELLING * log.error_ms(mean.name), LEAST_OF_WORKERS * abs(left)):
        return inner
    whole_ = InnerTimer(rest.name, OF_ALL_WORKERS, mean.baseline + rest.baseline, mean.new + rest.new)
    return [*(timer for timer in inner[:-1] if timer is not mean), whole_]


def _waits_for_whole_rollouts(log: TrainingLog, parts: Sequence[Part]) -> bool:
    """Whether the wait for samples holds all of the rollout, so that nothing runs beside it."""
    waiting = next((part for part in parts if part.name == WAITING), None)
    rollout = log.changes.get(ROLLOUT_TIME)
    if waiting is None or rollout is None:
        return False
    pairs = ((waiting.baseline, rollout.baseline), (waiting.new, rollout.new))
    return all(wait >= WHOLE_ROLLOUT * seconds * MS_PER_S > 0 for wait, seconds in pairs)


def _without_hidden(parts: Sequence[Part]) -> Sequence[Part]:
    """The timers without changes that are offset by waiting for samples; the changes that are left sum to the same.

    Where the rollout beside the step sets its length, a slower trainer waits less.
    """
    waiting = next((part for part in parts if part.name == WAITING), None)
    if waiting is None or not waiting.delta:
        return parts
    against = fsum(part.delta for part in parts if part.delta * waiting.delta < 0)
    hidden = min(abs(against), abs(waiting.delta))

    def left(part: Part) -> Part:
        size = abs(waiting.delta) if part is waiting else abs(against) if part.delta * waiting.delta < 0 else 0.0
        made_up = part.delta * hidden / size if size else 0.0
        return replace(part, new=part.baseline + part.delta * (1 - hidden / size), hidden=made_up) if size else part

    return [left(part) for part in parts]


def _divided(evidence: Evidence, phase: Part) -> Iterator[Part]:
    """The timers inside a phase, and the time that they leave; the phase itself if there are none."""
    log = evidence.log
    phase = replace(phase, timer=log.timers.get(phase.name, ""))
    inner = log.inner.get(phase.name, ()) if evidence.timed_phases else ()
    if not inner:
        yield phase
        return
    before, after = (fsum(getattr(timer, side) for timer in inner) for side in SIDES)
    rest = InnerTimer(phase.timer, rest_of(inner), phase.baseline - before, phase.new - after)
    for timer in netted(_of_slowest_worker(log, [*inner, rest])):
        yield Part(TIMER, phase.name, timer.part, timer.baseline, timer.new, phase.row, timer=timer.name)


def _part(kind: str, phase: object, row: Row, mean_delta: float | None = None, mean_moved: float | None = None) -> Part:
    values = (number(row["baseline"]) or 0.0, number(row["new"]) or 0.0)
    return Part(kind, None if phase is None else str(phase), str(row["name"]), *values, row, mean_delta, mean_moved)


def member_of(evidence: Evidence, basis: Basis, amounts: Mapping[int, float]) -> str:
    """The member of the runs, such as a rank, from which nearly all of a set of parts comes; empty if there is none.

    Each part counts for the member that changed most in this row of the account, as far as the others did not. On the
    critical path it counts only beyond what the others can have added, because the path may lead over one of them.

    Args:
        amounts: ms of the change, by place in ``basis.parts``.
    """
    by_member: dict[str, float] = defaultdict(float)
    delta = fsum(amounts.values())
    for place, amount in amounts.items():
        part = basis.parts[place]
        member, moved_by, all_moved = evidence.members.get((part.kind, part.phase, part.name), ("", 0.0, 0.0))
        if amount * moved_by <= 0:
            continue
        share = abs(moved_by) / all_moved
        if basis.ranks:
            others = part.mean_along(amount) - abs(moved_by)
            share = max(0.0, 1 - basis.ranks * max(0.0, others) / abs(amount))
        by_member[member] += amount * share
    member, most = max(by_member.items(), key=lambda item: (item[1] / delta, item[0]), default=("", 0.0))
    return member if abs(most) >= ON_ONE * fsum(map(abs, amounts.values())) else ""


def by_name(parts: Mapping[int, Part]) -> dict[str, dict[int, Part]]:
    """Parts grouped by name."""
    found: dict[str, dict[int, Part]] = defaultdict(dict)
    for place, part in parts.items():
        found[part.name][place] = part
    return found


def whole(parts: Mapping[int, Part]) -> dict[int, float]:
    """The whole change of each part."""
    return {place: part.delta for place, part in parts.items()}


def total(parts: Iterable[Part]) -> float:
    """The change of several parts, in ms."""
    return fsum(part.delta for part in parts)


def mean_total(parts: Iterable[Part]) -> float:
    """The change of several parts as a mean over ranks, in ms."""
    return fsum(part.delta if part.mean_delta is None else part.mean_delta for part in parts)


def alike(values: Sequence[tuple[float, float]], ratio: float, tolerance: float) -> bool:
    """Whether pairs of (baseline, new) changed by about the same factor; the same with the sides exchanged.

    Args:
        ratio: new / baseline of all together, above 0.
        tolerance: the part of the summed absolute changes that may differ from this.
    """
    apart = fsum(abs(new - ratio * baseline) for baseline, new in values) * max(1.0, 1 / ratio)
    return apart <= tolerance * fsum(abs(new - baseline) for baseline, new in values)
