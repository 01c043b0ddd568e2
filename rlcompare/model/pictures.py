"""What the pictures of a report show and no section holds: times by rank and phase, collectives by size, levels.

Times are in ms, with six digits. All of it is small: the page and ``diff.json`` hold it whole for 1,024 ranks.
"""

from __future__ import annotations

from dataclasses import dataclass

from rlcompare.model.words import SideName


@dataclass(frozen=True)
class RankTimes:
    """The account of one side by rank and phase: means over steps, then over runs.

    All values of a rank sum to its step, as the section ``ranks`` has it.

    Attributes:
        what: ``compute``; ``transfer``, a collective that all its ranks have started; ``wait``, one that another
            rank has not started; ``comm``, one of which that is not known; ``idle``, the rest: copies, launches, the
            host; ``unknown``, compute or idle of a rank whose kernels were not recorded.
        ranks: those that were profiled, in natural order.
        values: one tuple per rank, with a value for each of ``Pictures.phases``; 0 where a rank has no such phase,
            None where it was not recorded.
    """

    side: SideName
    what: str
    ranks: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]

    def __post_init__(self) -> None:
        if len(self.values) != len(self.ranks):
            raise ValueError("should have values for each of its ranks")


@dataclass(frozen=True)
class PathTime:
    """How long the critical path of a side stays on a rank, in a phase. All of them sum to the section ``path``."""

    side: SideName
    rank: str
    phase: str
    ms: float


@dataclass(frozen=True)
class SizedCollectives:
    """Collectives of one kind and about one size on a side, per rank and step.

    Attributes:
        power: their sizes are from 2^power to less than 2^(power + 1) bytes; None: unknown, or empty.
        bytes: data over all calls; None: unknown.
        ms: time over all calls.
        transit_ms: the part of it in which data moves; None if that was not recorded for each call.
    """

    side: SideName
    kind: str
    power: int | None
    calls: float
    bytes: float | None
    ms: float
    transit_ms: float | None


@dataclass(frozen=True)
class Level:
    """A level over time on a side, in samples: each holds until the next one. Of many, no peak is left out.

    Attributes:
        what: ``allocated`` or ``reserved``: bytes of memory, of the fullest device; ``clock``: MHz of AI Core, of the
            device with the lowest mean.
        component: whose memory, as in the section ``memory``; None for the clock.
        run: number of the run within its side, from 0.
        at_ms: since the start of the first step of this rank, else since the first sample.
    """

    side: SideName
    what: str
    component: str | None
    run: int
    rank: str
    at_ms: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.values) != len(self.at_ms):
            raise ValueError("should have as many values as times")


@dataclass(frozen=True)
class Pictures:
    """See above.

    Attributes:
        phases: the phases of ``ranks``, those that take the most time first, then ``(outside)``, which stands alone
            where no phase is marked on both sides; empty if no side has two ranks.
    """

    phases: tuple[str, ...] = ()
    ranks: tuple[RankTimes, ...] = ()
    path: tuple[PathTime, ...] = ()
    collectives: tuple[SizedCollectives, ...] = ()
    levels: tuple[Level, ...] = ()

    def __post_init__(self) -> None:
        if any(len(values) != len(self.phases) for times in self.ranks for values in times.values):
            raise ValueError("should have a value for each of its phases on each rank")
