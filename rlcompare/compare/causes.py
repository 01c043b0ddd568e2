"""What made the headline move: disjoint sets of parts of the change, each one sentence (``Diff.causes``).

The candidates are pure functions over the parts of the account (docs/design.md §5), or of training's timers. No two
causes contain the same time, so their shares and what is left (``Diff.unexplained``) sum to the whole change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from math import fsum

from rlcompare.compare.common import clock, everything, of_one_side, work
from rlcompare.compare.communication import communication, cover_of_one_rank, straggler
from rlcompare.compare.computation import computation
from rlcompare.compare.data_types import data_types
from rlcompare.compare.evidence import LEAST_RELATIVE, Evidence
from rlcompare.compare.host_pace import host_pace, host_pace_of_phases
from rlcompare.compare.log_reasons import log_reasons
from rlcompare.compare.odd_module import module_alone
from rlcompare.compare.parts import TIMER, Basis, Candidate, basis_of, member_of
from rlcompare.compare.places import lone_phases, places
from rlcompare.compare.rows import number
from rlcompare.compare.waits import waits
from rlcompare.model.diff import Cause, Row, Unexplained

__all__ = ["Evidence", "find_causes"]

EXPLAINED = 0.8
"""Share of the change from which no further cause is looked for."""

LARGE, WORTH_NAMING = 0.2, 0.05
"""Shares of the change: from the first on, a cause is named before places; from the second on, after them."""

FEW = 3
"""Up to so many single sets are named, if they explain the change, even if fewer places would."""

NARROWED = 0.8
"""A place is not named if a single set holds this part of it. Of what is left in the end, such a set is named, too."""

OWN = 2
"""A change is a phase's own if its odds to be in that phase are so many times those of any time of the step."""

MOST_LEFT = 0.5
"""Share of the change that may be left unexplained if a set is named that made up for a part of it."""

LEFT = 0.98
"""Part of a candidate that must not be explained yet for it to be a cause of its own."""

MOST_ROWS = 50
"""The most rows of a cause that are listed one by one."""

ANOTHER_PATH = ", as the step depends on other ranks than before"
"""A clause for causes that are on the critical path only because that leads over other ranks."""

MORE_ON_PATH = ", on average over all ranks, and more on those that the step waits for"
"""A clause for operators that slowed on the critical path by more than on average."""

ON_AVERAGE = ", on average over all ranks"
"""A clause for operators that slowed on the critical path by another factor than on average."""

MOST = 8
"""The most causes that are named."""


def find_causes(evidence: Evidence) -> tuple[tuple[Cause, ...], Unexplained | None]:
    """The causes, the main one first, and what they leave unexplained; none if the headline hardly moved.

    Times per step of an unknown number of steps have no cause, nor has what other steps or ranks on one side make of
    the mean, nor a profile of which one side alone lost a part, or that lost rows: what was lost looks like less work.
    """
    basis = basis_of(evidence)
    if basis is None:
        return (), None
    is_whole = evidence.times_whole or any(part.kind == TIMER for part in basis.parts)
    if not basis.parts or not is_whole or not evidence.steps_known or not evidence.same_members:
        return (), Unexplained(1.0, basis.change)
    choice = _Choice(evidence, basis)
    choice.take_all(of_one_side(evidence, basis))
    choice.take_all(lone_phases(evidence, basis))
    types = [*data_types(evidence, basis)]
    choice.take_common(kind(evidence, basis) for kind in (work, straggler, cover_of_one_rank))
    choice.take_common([types])
    choice.take_common(kind(evidence, basis) for kind in (everything, module_alone, clock, host_pace))
    kinds = (computation, communication, host_pace_of_phases, waits, log_reasons)
    single = [*types, *(candidate for kind in kinds for candidate in kind(evidence, basis))]
    few = _of_few(evidence, choice, single) or _of_places(evidence, choice, single)
    few.take_rest(evidence, single)
    few.take_opposite(evidence, single)
    # The largest first; causes that made up for a part of the change come last.
    chosen = sorted(few.chosen, key=lambda cause: (cause.delta_ms * basis.change < 0, -abs(cause.delta_ms)))
    return tuple(_as_rest(cause, chosen) for cause in chosen), Unexplained(few.rest / basis.change, few.rest)


def _of_few(evidence: Evidence, choice: _Choice, single: Sequence[Candidate]) -> _Choice | None:
    """A few sets that say where, and the places of the rest, if they explain the change; None if they do not.

    All waiting for the host, of many names, says less than the phase in which it is.
    """
    telling = [one for one in single if not one.is_broad]
    few = choice.copy()
    few.take(telling, LARGE, len(choice.chosen) + FEW)
    if few.is_done() or few.take_phases(evidence, telling):
        return few
    if len(few.chosen) > len(choice.chosen):
        few.take_places(evidence, single)
    return few if few.is_done() else None


def _of_places(evidence: Evidence, choice: _Choice, single: Sequence[Candidate]) -> _Choice:
    """A few sets and the places of the rest, or the places alone, if these are fewer."""
    few, broad = choice.copy(), choice.copy()
    few.take(single, LARGE, len(few.chosen) + FEW)
    if sum(one.is_broad and one.delta * choice.rest > 0 for one in few.taken) > 1:  # several kinds of one place
        single = [one for one in single if not one.is_broad]
        few = choice.copy()
        few.take(single, LARGE, len(few.chosen) + FEW)
    if few.is_done():
        return few
    few.take_places(evidence, single)
    few.take(single, WORTH_NAMING, MOST)
    broad.take_places(evidence, single)
    return broad if broad.is_done() and (not few.is_done() or len(broad.chosen) < len(few.chosen)) else few


def _as_rest(cause: Cause, causes: Sequence[Cause]) -> Cause:
    """The cause, worded as the rest of its phase if another one explains a part of the same timer."""
    own = _timers_of(cause)
    if cause.what != "phase" or not any(own & _timers_of(other) for other in causes if other is not cause):
        return cause
    return replace(cause, text=f"The rest of phase{cause.text.removeprefix('Phase')}")


def _timers_of(cause: Cause) -> set[tuple[object, object]]:
    return {(row["phase"], row["name"]) for row in cause.rows if row["kind"] == TIMER}


class _Choice:
    """Chooses disjoint sets until they explain most of the change.

    Attributes:
        chosen: the causes so far.
        rest: ms of the change that they do not explain.
        taken: the candidates that they were.
    """

    def __init__(self, evidence: Evidence, basis: Basis) -> None:
        self.chosen: list[Cause] = []
        self.rest = basis.change
        self._basis = basis
        self._evidence = evidence
        self._left = [part.delta for part in basis.parts]
        self.taken: list[Candidate] = []

    def left_over(self) -> Basis:
        """The basis without what the causes explain."""
        parts = zip(self._basis.parts, self._left, strict=True)
        return replace(self._basis, parts=tuple(replace(part, new=part.baseline + left) for part, left in parts))

    def take_all(self, candidates: Iterable[Candidate]) -> None:
        """Takes each, the largest first, however small it is, but those of which earlier ones hold most."""
        for candidate in sorted(candidates, key=lambda one: (-abs(one.delta), one.what, one.row)):
            if found := self._available(candidate):
                self._add(candidate, found)

    def take_common(self, kinds: Iterable[Iterable[Candidate]]) -> None:
        """Takes what most parts share, in this order: a single part of it is no cause of its own."""
        for candidates in kinds:
            for candidate in candidates:
                found = self._available(candidate)
                if not self.is_done() and fsum(found.values()) / self._basis.change >= LARGE:
                    self._add(candidate, found)

    def take(self, candidates: Sequence[Candidate], least: float, most: int) -> None:
        """Takes the candidates that explain most of what is left, the largest first.

        Args:
            least: share of the whole change below which a candidate is not taken.
            most: the number of causes at which to stop.
        """
        while not self.is_done() and len(self.chosen) < most and (largest := self._largest(candidates, self.rest)):
            candidate, found, delta = largest
            if abs(delta) < least * abs(self._basis.change):
                return
            self._add(candidate, found)

    def take_places(self, evidence: Evidence, single: Sequence[Candidate]) -> None:
        """Takes the places where most of what is left went, unless a single set holds nearly all of it.

        Each place holds what those before it left. Phases say more than kinds of time: they alone are taken if a few of
        them hold most of it, and the first one more than it would of a change of the whole step.
        """
        if not self.take_phases(evidence, single):
            self._take_places(evidence, single, ("phase", "kind"))

    def take_phases(self, evidence: Evidence, single: Sequence[Candidate]) -> bool:
        """Takes the phases where most of what is left went, if they hold it; returns whether they do."""
        by_phase = self.copy()
        by_phase._take_places(evidence, single, ("phase",))
        first = by_phase.chosen[len(self.chosen) :][:1]
        if not by_phase.is_done() or not first or not self._is_phases_own(first[0]):
            return False
        self._adopt(by_phase)
        return True

    def _take_places(self, evidence: Evidence, single: Sequence[Candidate], kinds: Sequence[str]) -> None:
        before = -1
        while before < len(self.chosen) < MOST:
            before = len(self.chosen)
            self.take(self._places(evidence, single, kinds), LARGE, before + 1)

    def _places(self, evidence: Evidence, single: Sequence[Candidate], kinds: Sequence[str]) -> list[Candidate]:
        """The places that no single set holds nearly all of, by what is left of them."""
        return [
            place
            for place in places(evidence, self._basis, self.left_over(), single, kinds)
            if not any(self._part_of(place, one) >= NARROWED for one in single)
        ]

    def _is_phases_own(self, cause: Cause) -> bool:
        """Whether a phase holds more of what is left than it would if the whole step had changed by one factor."""
        parts = self._basis.parts
        times = [
            (fsum(part.baseline for part in of), fsum(part.new for part in of))
            for of in ([part for part in parts if part.phase == cause.row], parts)
        ]
        of_step = max(phase / step if step else 0.0 for phase, step in zip(*times, strict=True))
        of_rest = cause.delta_ms / self.rest
        return of_rest * (1 - of_step) >= OWN * of_step * (1 - of_rest)

    def take_rest(self, evidence: Evidence, candidates: Sequence[Candidate]) -> None:
        """Takes sets, or kinds of time, that hold nearly all of what is left: that is not unexplained.

        The largest one, or else it is by chance: larger ones that make up for each other are left with it.
        """
        for kinds in ((), ("kind",)):
            while len(self.chosen) < MOST:
                largest = self._largest(self._places(evidence, candidates, kinds) if kinds else candidates)
                if largest is None or not self.rest or not NARROWED <= largest[2] / self.rest <= 1 / NARROWED:
                    break
                if abs(largest[2]) < WORTH_NAMING * abs(self._basis.change):
                    break
                self._add(*largest[:2])

    def take_opposite(self, evidence: Evidence, candidates: Sequence[Candidate]) -> None:
        """Takes sets and kinds of time that made up for a large part of the change, and what they made up for."""
        step = fsum(part.baseline for part in self._basis.parts)
        least = max(LARGE * abs(self._basis.change), LEAST_RELATIVE * step)
        while len(self.chosen) < MOST:
            able = [*candidates, *self._places(evidence, candidates, ("kind",))]
            largest = self._largest(able, -self._basis.change)
            if largest is None or abs(largest[2]) < least:
                return
            other = self.copy()
            other._add(*largest[:2])
            other.take_places(evidence, candidates)
            if not other.is_done():
                other.take(candidates, LARGE, MOST)
            if abs(other.rest) > max(MOST_LEFT * abs(self._basis.change), abs(self.rest)):
                return  # what it made up for is in no set that could be named
            self._adopt(other)

    def _largest(
        self, candidates: Sequence[Candidate], along: float | None = None
    ) -> tuple[Candidate, dict[int, float], float] | None:
        """The candidate that holds most of what no cause explains, with that and its sum; None if none is left.

        Args:
            along: only candidates that changed in the direction of this.
        """
        able = [(one, found, fsum(found.values())) for one in candidates if (found := self._available(one))]
        if along is not None:
            able = [one for one in able if one[2] * along > 0]
        return max(able, key=lambda one: (abs(one[2]), one[0].what, one[0].row), default=None)

    def _part_of(self, place: Candidate, one: Candidate) -> float:
        """The part of a place that another candidate holds."""
        found = self._available(one)
        return fsum(amount for part, amount in found.items() if part in place.amounts) / (place.delta or 1.0)

    def is_done(self) -> bool:
        """Whether the causes explain most of the change."""
        return abs(self.rest) <= (1 - EXPLAINED) * abs(self._basis.change)

    def copy(self) -> _Choice:
        """Another choice that begins with the same causes."""
        other = copy(self)
        other.chosen, other._left, other.taken = [*self.chosen], [*self._left], [*self.taken]
        return other

    def _adopt(self, other: _Choice) -> None:
        self.chosen, self.rest, self._left, self.taken = other.chosen, other.rest, other._left, other.taken

    def _available(self, candidate: Candidate) -> dict[int, float]:
        """What a candidate holds that no cause explains yet; empty if that is too little of it, or if it is a cause."""
        if any(candidate is taken for taken in self.taken):
            return {}
        found = {}
        for place, amount in candidate.amounts.items():
            left = self._left[place]
            if amount * left > 0:
                found[place] = min(abs(amount), abs(left)) * (1 if amount > 0 else -1)
        wanted = fsum(abs(amount) for amount in candidate.amounts.values())
        return found if fsum(abs(amount) for amount in found.values()) > LEFT * wanted else {}

    def _add(self, candidate: Candidate, amounts: dict[int, float]) -> None:
        delta = fsum(amounts.values())
        self.taken.append(candidate)
        for place, amount in amounts.items():
            self._left[place] -= amount
        self.rest -= delta
        text = candidate.text if isinstance(candidate.text, str) else candidate.text(delta)
        parts = [self._basis.parts[place] for place in amounts]
        has_moved = not candidate.member and self._basis.has_moved(parts)
        member = "" if has_moved else candidate.member or member_of(self._evidence, self._basis, amounts)
        note = ANOTHER_PATH if has_moved else ""
        if member and not re.search(rf"\b{re.escape(member)}\b", text):
            of_all = ", on average" if candidate.what == "operator_slower" else ""
            note = f"{of_all}, most of it on {member}"
        elif not member and candidate.what == "operator_slower" and self._basis.is_other_on_path(parts):
            note = MORE_ON_PATH if self._basis.is_more_on_path(parts) else ON_AVERAGE
        if note or self._basis.note:
            text = f"{text.removesuffix('.')}{note}{self._basis.note}."
        share = delta / self._basis.change
        rows = self._rows(amounts)
        section = "path" if candidate.section == "account" and self._basis.ranks else candidate.section
        self.chosen.append(
            Cause(candidate.what, share, delta, text, section, candidate.row, rows, member or None, candidate.facts)
        )

    def _rows(self, amounts: Mapping[int, float]) -> tuple[Row, ...]:
        """The parts that a cause consists of, the largest first, and the sum of those beyond ``MOST_ROWS``."""
        rows: list[Row] = []
        for place, amount in sorted(amounts.items(), key=lambda item: (-abs(item[1]), item[0])):
            part = self._basis.parts[place]
            rows.append({"kind": part.kind, "phase": part.phase, "name": part.name, "delta_ms": amount})
        if len(rows) <= MOST_ROWS:
            return tuple(rows)
        rest = fsum(number(row["delta_ms"]) or 0.0 for row in rows[MOST_ROWS:])
        return (*rows[:MOST_ROWS], {"kind": None, "phase": None, "name": None, "delta_ms": rest})
