"""How far the mean of a run may be off by luck, as its steps show: few uneven steps do not tell a mean exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rlcompare.compare.estimate import FALSE_ALARM, Spread
from rlcompare.compare.records import StepNoise
from rlcompare.model.diff import STEP_FREEDOM, STEP_NOISE, Delta, Value


def with_step_noise(
    overall: Sequence[Delta], noise: Sequence[StepNoise], timers: Mapping[str, str]
) -> tuple[Delta, ...]:
    """Adds ``STEP_NOISE`` and ``STEP_FREEDOM`` to the evidence of the metrics whose steps the log has.

    Args:
        timers: the timer of each phase.
    """
    found = {row.name: _evidence(row) for row in noise}
    of_phases = {f"phase.{phase}.wall": found[timer] for phase, timer in timers.items() if timer in found}
    found = {**found, **of_phases}
    return tuple(
        replace(delta, evidence={**delta.evidence, **found[delta.metric]}) if delta.metric in found else delta
        for delta in overall
    )


def _evidence(row: StepNoise) -> dict[str, Value]:
    """Steps that both sides have in common make the difference surer; but pairs of few steps tell less."""
    ways = Spread(row.alone, row.alone_freedom), Spread(row.paired, row.paired_freedom)
    surer = min(ways, key=lambda one: one.reach(FALSE_ALARM) * one.value)
    return {STEP_NOISE: surer.value, STEP_FREEDOM: surer.freedom}
