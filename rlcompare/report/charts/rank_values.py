"""The values of the heat map of ranks: columns, and the time of each rank in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from rlcompare.language import tr
from rlcompare.model.pictures import Pictures
from rlcompare.model.words import SIDES, SideName
from rlcompare.report.charts.likeness import Values, kind_of
from rlcompare.text import safe_text

MOST_PHASES = 6
"""Further phases are one column, as are those that take less than ``LEAST_PHASE`` of the step on every rank."""

LEAST_PHASE = 0.01

OUTSIDE = "(outside)"

_OWN = ("compute", "transfer", "idle", "unknown")
_WAITING = ("wait", "comm")
_TITLES = {
    "compute": lambda: tr("compute"),
    "transfer": lambda: tr("transfer"),
    "idle": lambda: tr("device idle"),
    "wait": lambda: tr("waiting for ranks"),
    "comm": lambda: tr("communication"),
    "unknown": lambda: tr("not recorded"),
}

_Rows = Mapping[tuple[SideName, str], Mapping[str, Values]]
"""By side and kind of time: the values of each rank by phase."""


class Column(NamedTuple):
    """A phase without waiting, or a kind of time.

    Attributes:
        phases: as in ``Pictures.phases``; empty for a kind of time.
        own: whether it is time of the rank itself, known to be: not waiting, and not what was not recorded.
        parts: what it consists of: kinds of time, and places of phases.
    """

    title: str
    phases: tuple[str, ...]
    own: bool
    parts: tuple[tuple[str, int], ...]


class RankValues(NamedTuple):
    """The time of each rank in each column, by side; None where a side lacks the rank."""

    columns: tuple[Column, ...]
    ranks: Mapping[str, Mapping[SideName, Values | None]]

    @property
    def has_phases(self) -> bool:
        return any(column.phases for column in self.columns)

    def both(self, rank: str) -> Values:
        """The values of the baseline, then of the new side."""
        return tuple(value for side in SIDES for value in self.ranks[rank][side] or (None,) * len(self.columns))

    def of_kind(self, side: SideName) -> dict[str, list[str]]:
        """The ranks of a side by what they are: ranks, replicas, …"""
        found: dict[str, list[str]] = {}
        for rank, sides in self.ranks.items():
            if sides[side] is not None:
                found.setdefault(kind_of(rank), []).append(rank)
        return found

    def medians(self, side: SideName) -> dict[str, Values]:
        """The median rank of a side, column by column, for each kind of rank."""
        return {
            kind: tuple(
                _median(value for rank in ranks if (value := (self.ranks[rank][side] or ())[place]) is not None)
                for place in range(len(self.columns))
            )
            for kind, ranks in self.of_kind(side).items()
        }


def rank_values(pictures: Pictures) -> RankValues | None:
    """The values; None unless there are two ranks."""
    rows: _Rows = {
        (times.side, times.what): dict(zip(times.ranks, times.values, strict=False))
        for times in pictures.ranks
        if times.what in _TITLES
    }
    ranks = list(dict.fromkeys(rank for values in rows.values() for rank in values))
    if len(ranks) < 2 or not pictures.phases:
        return None
    columns = _columns(pictures.phases, rows)

    def values(side: SideName, rank: str) -> Values | None:
        found = {what: rows[side, what][rank] for what in _TITLES if rank in rows.get((side, what), {})}
        if not found:
            return None
        return tuple(total([found[what][at] for what, at in column.parts if what in found]) for column in columns)

    return RankValues(columns, {rank: {side: values(side, rank) for side in SIDES} for rank in ranks})


def total(values: Sequence[float | None]) -> float | None:
    """The sum of what is known; None if nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _median(values: Iterable[float]) -> float | None:
    known = list(values)
    return median(known) if known else None


def _columns(phases: Sequence[str], rows: _Rows) -> tuple[Column, ...]:
    used = [
        what for what in _TITLES if any(total(v) for key, by in rows.items() if key[1] == what for v in by.values())
    ]
    everywhere = range(len(phases))
    of_kind = {
        what: Column(_TITLES[what](), (), what in _OWN[:-1], tuple((what, at) for at in everywhere)) for what in used
    }
    if tuple(phases) == (OUTSIDE,):
        return tuple(of_kind.values())
    large = _large(phases, rows)
    groups = [(safe_text(phases[at], 60), [at]) for at in large]
    if rest := [at for at in everywhere if at not in large]:
        groups.append((tr("other phases"), rest))
    own = [
        Column(title, tuple(phases[at] for at in places), True, tuple((what, at) for what in _OWN for at in places))
        for title, places in groups
    ]
    return (*own, *(of_kind[what] for what in _WAITING if what in of_kind))


def _large(phases: Sequence[str], rows: _Rows) -> list[int]:
    """The places of phases that have a column of their own."""
    largest = [0.0] * len(phases)
    step = 0.0
    for side, rank in dict.fromkeys((side, rank) for (side, _), by in rows.items() for rank in by):
        of_rank = {what: by[rank] for (of, what), by in rows.items() if of == side and rank in by}
        step = max(step, sum(value or 0.0 for values in of_rank.values() for value in values))
        own = [values for what, values in of_rank.items() if what in _OWN]
        largest = [max(known, sum(values[at] or 0.0 for values in own)) for at, known in enumerate(largest)]
    return [at for at, size in enumerate(largest) if size >= LEAST_PHASE * step][:MOST_PHASES]
