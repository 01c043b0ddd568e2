"""What a device did over a stretch of time, on both sides: a part of ``diff.json``, drawn by the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rlcompare.model.words import SideName

TIMELINE_KINDS = ("compute", "comm", "copy", "host", "queue")
"""What a device does: computes, communicates, copies from or to the host; or is idle and waits for the host, or for
its own queue. The first three overlap."""


@dataclass(frozen=True)
class TimelineTask:
    """A kernel, collective or copy.

    Attributes:
        kind: ``compute``, ``comm`` or ``copy``.
        name: as in the tables: operator type of a kernel, else its name; kind of a collective or copy.
        start_ns: after the start of the timeline; negative if it began before.
        ns: its whole duration.
    """

    kind: str
    name: str
    start_ns: int
    ns: int


@dataclass(frozen=True)
class TimelineSide:
    """The timeline of one device of one rank.

    Attributes:
        run: number of the run within its side, from 0.
        member: ``rank 5``, or what a process is called that is no rank.
        device_id: None: unknown.
        step, steps: the step that is shown, or that of the call, and among how many profiled ones of all runs it was
            chosen as the typical one.
        calls: number of calls of the phase in the step, of which one is shown; None: the whole step.
        span_ns: its length.
        bucket_ns: length of a bucket. The last bucket ends with the timeline.
        busy_ns: by kind, the time in each bucket: of ``compute``, ``comm`` and ``copy`` the union of all tasks.
        tasks: the longest ones, in the order of time.
    """

    run: int
    member: str
    device_id: int | None
    step: int
    steps: int
    calls: int | None
    span_ns: int
    bucket_ns: int
    busy_ns: Mapping[str, tuple[int, ...]]
    tasks: tuple[TimelineTask, ...]


@dataclass(frozen=True)
class Timeline:
    """The phase that changed the headline most, on both sides.

    Attributes:
        phase: None: the whole step.
    """

    phase: str | None
    baseline: TimelineSide
    new: TimelineSide

    def side(self, name: SideName) -> TimelineSide:
        """One side."""
        return self.baseline if name == "baseline" else self.new
