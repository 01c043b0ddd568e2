"""How far the mean of a run may be off by luck, as its steps show: few uneven steps do not tell a mean exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rlcompare.compare.estimate import FALSE_ALARM, Spread
from rlcompare.compare.names import FOLLOW_STEP
from rlcompare.compare.records import ProfileNoise, StepNoise
from rlcompare.model.diff import OF_WORK, STEP_FREEDOM, STEP_NOISE, Delta, Value


def with_step_noise(
    overall: Sequence[Delta], noise: Sequence[StepNoise], profiled: Sequence[ProfileNoise], timers: Mapping[str, str]
) -> tuple[Delta, ...]:
    """Adds ``STEP_NOISE`` and ``STEP_FREEDOM`` to the evidence of the metrics whose steps the log or the profile has.

    Args:
        profiled: that of the times of profiled steps.
        timers: the timer of each phase. With these, the phases' wall times are training's own.
    """
    found = {row.name: _spread(row) for row in noise}
    of_phases = {f"phase.{phase}.wall": found[timer] for phase, timer in timers.items() if timer in found}
    of_profile = {row.name: _spread(row) for row in profiled if not timers or not row.name.endswith(".wall")}
    found = {**of_profile, **found, **of_phases}
    step, *rates = FOLLOW_STEP
    if step in found:  # what follows from it is no surer
        found |= {name: max(found[step], found.get(name, found[step]), key=_reach) for name in rates}
    return tuple(
        replace(delta, evidence={**delta.evidence, **_evidence(found[delta.metric])})
        if delta.metric in found
        else delta
        for delta in overall
    )


def without_evidence_of_steps(overall: Sequence[Delta]) -> tuple[Delta, ...]:
    """Removes what steps tell, ``OF_WORK`` too, from the evidence of all metrics."""
    told = (OF_WORK, STEP_NOISE, STEP_FREEDOM)
    return tuple(
        replace(delta, evidence={key: value for key, value in delta.evidence.items() if key not in told})
        for delta in overall
    )


def _spread(row: StepNoise | ProfileNoise) -> Spread:
    """Steps that both sides have in common make the difference surer; but pairs of few steps tell less."""
    return min(Spread(row.alone, row.alone_freedom), Spread(row.paired, row.paired_freedom), key=_reach)


def _reach(spread: Spread) -> float:
    return spread.reach(FALSE_ALARM) * spread.value


def _evidence(spread: Spread) -> dict[str, Value]:
    return {STEP_NOISE: spread.value, STEP_FREEDOM: spread.freedom}
