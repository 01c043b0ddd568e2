"""What the two sides are: runs, captures, steps, and what they were made with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlcompare.compare.inputs import SIDES, SideInput
from rlcompare.model.diff import RunInfo, Side

_VALUES_SHOWN = 3
_FROM_CAPTURES = {"profiler.level": "level", "world_size": "world_size"}


def environments(env: Sequence[Mapping[str, Any]], captures: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """What each side was made with.

    Several values of one key are listed, the first three. Level and world size come from the captures where the
    environment does not name them.
    """
    merged: dict[str, dict[str, str]] = {side: {} for side in SIDES}
    for row in env:
        merged[row["side"]][row["key"]] = _listed(row["values"])
    for key, column in _FROM_CAPTURES.items():
        for side in SIDES:
            values = {str(row[column]) for row in captures if row["side"] == side and row[column] is not None}
            if values and key not in merged[side]:
                merged[side][key] = _listed(sorted(values))
    return {side: dict(sorted(merged[side].items())) for side in SIDES}


def differing_levels(env: Mapping[str, Mapping[str, str]]) -> tuple[str, str] | None:
    """The profiler levels of both sides where they are known and differ."""
    baseline, new = (env[side].get("profiler.level") for side in SIDES)
    return (baseline, new) if baseline and new and baseline != new else None


def _listed(values: Sequence[str]) -> str:
    shown = ", ".join(values[:_VALUES_SHOWN])
    return f"{shown}, … ({len(values)} values)" if len(values) > _VALUES_SHOWN else shown


def make_sides(
    given: Mapping[str, SideInput],
    layout: Sequence[Mapping[str, Any]],
    captures: Sequence[Mapping[str, Any]],
    positions: Sequence[Mapping[str, Any]],
    training: Sequence[Mapping[str, Any]],
    env: Mapping[str, Mapping[str, str]],
) -> dict[str, Side]:
    """Both sides for the document's header.

    Args:
        given: the inputs by side.
        layout: rows of ``layout``: what each run is made of.
        captures: rows of ``capture``.
        positions: rows of ``selected_steps``: the step numbers of each side.
        training: rows of ``training``: how many steps each run logged. They count where a run has no profile.
        env: what each side was made with.
    """
    return {side: _side(side, given[side], layout, captures, positions, training, env[side]) for side in SIDES}


def _side(
    side: str,
    given: SideInput,
    layout: Sequence[Mapping[str, Any]],
    captures: Sequence[Mapping[str, Any]],
    positions: Sequence[Mapping[str, Any]],
    training: Sequence[Mapping[str, Any]],
    env: Mapping[str, str],
) -> Side:
    parts = {row["run"]: row for row in layout if row["side"] == side}
    logged = {row["run"]: row["steps"] for row in training if row["side"] == side}
    runs = tuple(
        RunInfo(
            name=run.name,
            path=run.path,
            captures=parts[number]["captures"] if number in parts else 0,
            ranks=parts[number]["ranks"] if number in parts else 0,
            steps=parts[number]["steps"] if number in parts else logged.get(number, 0),
            replicas=parts[number]["replicas"] if number in parts else 0,
        )
        for number, run in enumerate(given.stores)
    )
    return Side(
        label=given.label,
        runs=runs,
        captures=tuple(
            {key: value for key, value in row.items() if key != "side"} for row in captures if row["side"] == side
        ),
        steps=tuple(row["step"] for row in positions if row["side"] == side),
        env=env,
    )
