"""What pictures show beyond the sections (``Diff.pictures``), from the rollups."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from rlcompare.compare import records
from rlcompare.compare.overall import OUTSIDE
from rlcompare.compare.records import CollectiveSize, RankPath, RankPhase
from rlcompare.compare.rollups import Rollups
from rlcompare.compare.rows import NS_PER_MS
from rlcompare.compare.steps_and_ranks import natural
from rlcompare.model.pictures import Level, PathTime, Pictures, RankTimes, SizedCollectives
from rlcompare.model.words import SideName


def make_pictures(rollups: Rollups) -> Pictures:
    """All of them."""
    members = Counter(side for side, _ in {(row.side, row.member) for row in rollups.rows(records.Capture)})
    measured = rollups.rows(RankPhase) if max(members.values(), default=0) > 1 else []
    phases = _phases(measured)
    return Pictures(
        phases=phases,
        ranks=tuple(_times(row, phases) for row in measured),
        path=_path(rollups.rows(RankPath), phases),
        collectives=tuple(map(_sized, rollups.rows(CollectiveSize))),
        levels=tuple(map(_level, rollups.rows(records.Level))),
    )


def _phases(measured: Sequence[RankPhase]) -> tuple[str, ...]:
    """The phases by time, largest first; what lies outside of them last."""
    sizes: dict[str, float] = {}
    for row in measured:
        for place, phase in enumerate(row.phases):
            sizes[phase] = sizes.get(phase, 0.0) + math.fsum(ns or 0.0 for ns in row.amounts[place :: len(row.phases)])
    return tuple(sorted(sizes, key=lambda phase: (phase == OUTSIDE, -sizes[phase], phase)))


def _times(row: RankPhase, phases: Sequence[str]) -> RankTimes:
    places = [row.phases.index(phase) for phase in phases]
    values = {
        member: tuple(_known_ms(row.amounts[at * len(phases) + place]) for place in places)
        for at, member in enumerate(row.members)
    }
    ranks = tuple(sorted(values, key=natural))
    return RankTimes(row.side, row.what, ranks, tuple(values[rank] for rank in ranks))


def _path(rows: Sequence[RankPath], phases: Sequence[str]) -> tuple[PathTime, ...]:
    found: dict[tuple[SideName, str, str], float] = {}
    for row in rows:
        place = row.side, row.member, row.phase if row.phase in phases else OUTSIDE
        found[place] = found.get(place, 0.0) + row.ns
    return tuple(PathTime(*place, _ms(ns)) for place, ns in found.items())


def _sized(row: CollectiveSize) -> SizedCollectives:
    return SizedCollectives(row.side, row.name, row.power, row.calls, row.bytes, _ms(row.ns), _known_ms(row.transit_ns))


def _level(row: records.Level) -> Level:
    at_ms = tuple(round(ns / NS_PER_MS, 3) for ns in row.at_ns)
    return Level(row.side, row.what, row.component, row.run, row.member, at_ms, tuple(row.amounts))


def _ms(ns: float) -> float:
    return float(f"{ns / NS_PER_MS:.6g}")


def _known_ms(ns: float | None) -> float | None:
    return None if ns is None else _ms(ns)
