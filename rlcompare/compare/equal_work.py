"""What more or less work explains of the times of a log, as far as its steps show how the times follow the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import fsum, sqrt

from rlcompare.compare.log_tells import MOVED
from rlcompare.compare.log_work import PASSES, batch_of
from rlcompare.compare.overall import SPEED
from rlcompare.compare.timers import MS_PER_S, TrainingLog
from rlcompare.compare.training import GENERATION
from rlcompare.model.diff import OF_WORK, Delta

_SMALL = 0.1
"""Part of the step below which a phase need not be known to follow the work."""

_SURE = 0.01
"""Part of a time by which the work that explains it may be off, as a standard error."""


def with_work(overall: Sequence[Delta], log: TrainingLog) -> tuple[Delta, ...]:
    """Adds ``OF_WORK`` to the evidence of the step and of the phases that the log times."""
    work = _work_of_phases(log)
    known = {log.timers[phase]: s for phase, s in work.items() if s is not None}
    found = known | {f"phase.{phase}.wall": s * MS_PER_S for phase, s in work.items() if s is not None}
    if known and not _leave_much_open(work, log):
        found[SPEED] = fsum(known.values())
    return tuple(
        replace(delta, evidence={**delta.evidence, OF_WORK: found[delta.metric]}) if delta.metric in found else delta
        for delta in overall
    )


def _work_of_phases(log: TrainingLog) -> Mapping[str, float | None]:
    """For each phase that depends on tokens, what the work explains of its change, in s; None: unknown."""
    made: dict[str, float | None] = {}
    batch = batch_of(log)
    other_batch = batch is not None and abs(batch.relative) >= MOVED
    for phase in (*GENERATION, *PASSES):
        timer = log.timers.get(phase)
        if timer is None or timer not in log.changes:
            continue
        drivers = [driver for driver in log.drivers.get(timer, ()) if driver.metric in log.changes]
        told = [(driver, log.changes[driver.metric]) for driver in drivers if driver.slope is not None]
        error = sqrt(fsum((driver.error * change.delta) ** 2 for driver, change in told)) / MS_PER_S
        if phase in GENERATION and other_batch:
            made[phase] = None  # its steps show what longer responses cost, and not more of them
        elif told and error <= _SURE * log.changes[timer].new:
            made[phase] = fsum((driver.slope or 0.0) * change.delta for driver, change in told) / MS_PER_S
        else:
            made[phase] = None
    return made


def _leave_much_open(work: Mapping[str, float | None], log: TrainingLog) -> bool:
    """Whether phases that are not known to follow the work take much of the step."""
    step = log.changes.get(SPEED)
    unknown = fsum(log.changes[log.timers[phase]].baseline for phase, known in work.items() if known is None)
    return step is None or unknown > _SMALL * step.baseline
