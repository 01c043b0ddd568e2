"""Describes the two sides: runs, captures, steps, and environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rlcompare.compare.inputs import SideInput
from rlcompare.compare.records import Capture, Env, Layout, SelectedSteps, Training
from rlcompare.model.diff import Row, RunInfo, Side
from rlcompare.model.words import SIDES, SideName

_VALUES_SHOWN = 3


def environments(env: Sequence[Env], captures: Sequence[Capture]) -> dict[SideName, dict[str, str]]:
    """The environment of each side.

    If a key has several values, the first three are listed. Level and world size come from the captures if the
    environment does not contain them.
    """
    merged: dict[SideName, dict[str, str]] = {side: {} for side in SIDES}
    for row in env:
        merged[row.side][row.key] = _listed(row.values)
    for side in SIDES:
        own = [capture for capture in captures if capture.side == side]
        told = {
            "profiler.level": {capture.level for capture in own if capture.level is not None},
            "world_size": {str(capture.world_size) for capture in own if capture.world_size is not None},
        }
        for key, values in told.items():
            if values and key not in merged[side]:
                merged[side][key] = _listed(sorted(values))
    return {side: dict(sorted(merged[side].items())) for side in SIDES}


def differing_levels(env: Mapping[SideName, Mapping[str, str]]) -> tuple[str, str] | None:
    """The profiler levels of both sides if they are known and differ."""
    baseline, new = (env[side].get("profiler.level") for side in SIDES)
    return (baseline, new) if baseline and new and baseline != new else None


def _listed(values: Sequence[str]) -> str:
    shown = ", ".join(values[:_VALUES_SHOWN])
    return f"{shown}, … ({len(values)} values)" if len(values) > _VALUES_SHOWN else shown


def make_sides(
    given: Mapping[SideName, SideInput],
    layout: Sequence[Layout],
    captures: Sequence[Capture],
    steps: Sequence[SelectedSteps],
    training: Sequence[Training],
    env: Mapping[SideName, Mapping[str, str]],
) -> dict[SideName, Side]:
    """Both sides for the document's header.

    Args:
        given: the inputs by side.
        steps: the step numbers of each side.
        training: how many steps each run logged. They count if a run has no profile.
        env: the environment of each side.
    """
    return {
        side: Side(
            label=given[side].label,
            runs=_runs(side, given[side], layout, training),
            captures=tuple(_without_side(capture) for capture in captures if capture.side == side),
            steps=tuple(row.step for row in steps if row.side == side),
            env=env[side],
        )
        for side in SIDES
    }


def _runs(
    side: SideName, given: SideInput, layout: Sequence[Layout], training: Sequence[Training]
) -> tuple[RunInfo, ...]:
    profiled = {row.run: row for row in layout if row.side == side}
    logged = {row.run: row.steps for row in training if row.side == side}
    runs = []
    for number, run in enumerate(given.stores):
        found = profiled.get(number)
        if found is None:
            runs.append(RunInfo(run.name, run.path, captures=0, ranks=0, steps=logged.get(number, 0)))
        else:
            runs.append(RunInfo(run.name, run.path, found.captures, found.ranks, found.steps, found.replicas))
    return tuple(runs)


def _without_side(capture: Capture) -> Row:
    row = capture._asdict()
    del row["side"]
    return row
