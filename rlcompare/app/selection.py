"""Finds the runs that a path holds, and checks the selected ranks and steps as far as possible before reading."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rlcompare.errors import UsageError
from rlcompare.model.run import CaptureInput, RunInput
from rlcompare.sources.described import is_sample
from rlcompare.sources.detect import find_runs
from rlcompare.sources.numbers import list_numbers
from rlcompare.sources.registry import find

_NUMBERED = re.compile(r"#\d+$")
"""How ``sources.layout.run_names`` names several runs in one folder."""


def select_runs(
    path: Path,
    *,
    prefer: str,
    layout: str | None,
    ranks: Sequence[int] | None,
    steps: Sequence[int] | None,
    option: str = "--step",
) -> list[RunInput]:
    """The runs that a path holds, reduced to the chosen ranks and steps.

    Args:
        option: with which the steps were chosen, for messages.

    Raises:
        UsageError: a rank does not exist, or a step is known not to exist.
        InputError: the path holds no run.
    """
    folder, wanted = folder_and_run(path)
    runs = find_runs(folder, prefer=prefer, layout=layout, ranks=None if ranks is None else frozenset(ranks))
    if wanted:
        runs = [_called(wanted, folder, runs)]
    if steps is None:
        return runs
    for run in runs:
        where = f"{path}" if len(runs) == 1 else f"run {run.name} in {path}"
        if not run.captures:
            raise UsageError(f"{option}: {where} contains no profile to select steps from")
        known = known_steps(run)
        missing = set(steps) - known if known is not None else set()
        if known is not None and missing:
            noun = "step" if len(known) == 1 else "steps"
            raise UsageError(f"{option} {list_numbers(missing)}: {where} only has {noun} {list_numbers(known)}")
    return [replace(run, steps=frozenset(steps)) for run in runs]


def _called(name: str, folder: Path, runs: Sequence[RunInput]) -> RunInput:
    for run in runs:
        if run.name == name:
            return run
    known = ", ".join(run.name for run in runs[:8]) + (" and more" if len(runs) > 8 else "")
    raise UsageError(f"{folder} contains no run {name}; it has {known}")


def folder_and_run(path: Path) -> tuple[Path, str]:
    """Splits a path with a run's number, as in ``save_path/e2e#2``, into the folder and the run's name there."""
    if _NUMBERED.search(path.name) and not os.path.lexists(path):
        folder = next((parent for parent in path.parents if parent.is_dir()), path)
        return folder, path.relative_to(folder).as_posix()
    return path, ""


def known_steps(run: RunInput) -> frozenset[int] | None:
    """The steps that a run marks; None if they are not known before it is read."""
    if run.is_store:
        return None
    known: set[int] = set()
    for capture in run.captures:
        steps = _steps_of(capture)
        if steps is None:
            return None
        known |= steps
    return frozenset(known)


def _steps_of(capture: CaptureInput) -> frozenset[int] | None:
    if capture.step is not None and is_sample(capture):
        return frozenset({capture.step})  # its marks are ticks
    steps = find(capture.source).steps(capture)
    if steps is None and capture.step is not None:  # from verl's folder, or from the order in time
        return frozenset({capture.step})
    return steps
