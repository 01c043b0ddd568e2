"""Assigns what lies beside a run to it: metrics of training, metrics of rollout engines, and Hydra's configuration.

Each belongs to the only run in the nearest parent folder that holds one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rlcompare.errors import UsageError
from rlcompare.model.run import CaptureInput, Finding, RunInput, TrainingInput
from rlcompare.sources import hydra
from rlcompare.sources.metrics import form
from rlcompare.sources.source import Problem


@dataclass
class Group:
    """Captures and training data of one run."""

    captures: list[CaptureInput]
    training: TrainingInput | None = None

    @property
    def paths(self) -> list[Path]:
        """Its paths."""
        return [capture.path for capture in self.captures] or ([self.training.path] if self.training else [])


def with_metrics(
    root: Path, groups: Sequence[Group], runs: Sequence[TrainingInput]
) -> tuple[list[tuple[Path, Finding]], list[Problem]]:
    """Assigns metrics to the runs beside them; returns findings, and the metrics without a run."""
    wanted: dict[int, list[TrainingInput]] = {}
    lost: list[Problem] = []
    for entry in runs:
        number = _beside(root, groups, entry.path)
        if number is None or groups[number].training is not None:
            lost.append(of_no_run(entry))
        else:
            wanted.setdefault(number, []).append(entry)
    notes = []
    for number, entries in wanted.items():
        if len(entries) > 1:
            lost += [of_no_run(entry, "several runs have metrics next to the same profile") for entry in entries]
            continue
        groups[number].training = entries[0]
        names = " and ".join(dict.fromkeys(source.name for source in entries[0].metrics))
        verb = "was" if len(entries[0].metrics) == 1 else "were"
        finding = Finding("info", "metrics_joined", f"{names} {verb} read as the metrics of this profile's run")
        notes.append((groups[number].paths[0], finding))
    return notes, lost


def _beside(root: Path, groups: Sequence[Group], path: Path) -> int | None:
    """Index of the only run in the nearest parent folder that holds one; None if that holds several runs."""
    for folder in path.parents:
        inside = [
            number for number, group in enumerate(groups)
            if any(inside.is_relative_to(folder) for inside in group.paths)
        ]  # fmt: skip
        if inside or folder == root:
            return inside[0] if len(inside) == 1 else None
    return None


def divided(entries: Sequence[TrainingInput]) -> tuple[list[TrainingInput], list[TrainingInput]]:
    """What rollout engines said of themselves, and what training logged."""
    engines = [entry for entry in entries if entry.metrics and entry.metrics[0].form == form.PROMETHEUS]
    return engines, [entry for entry in entries if entry not in engines]


def with_engines(
    root: Path,
    groups: list[Group],
    engines: Sequence[TrainingInput],
    notes: list[tuple[Path, Finding]],
    problems: list[Problem],
) -> tuple[list[Group], list[tuple[Path, Finding]]]:
    """Runs with the metrics of their rollout engines, which lie in the nearest folder with one run."""
    if not groups and engines:
        first, *rest = engines
        metrics = tuple(source for entry in (first, *rest) for source in entry.metrics)
        return [Group([], replace(first, metrics=metrics))], notes
    for entry in engines:
        number = _beside(root, groups, entry.path)
        if number is None:
            problems.append(of_no_run(entry))
            continue
        training = groups[number].training
        groups[number].training = (
            entry if training is None else replace(training, metrics=training.metrics + entry.metrics)
        )
    return groups, notes


def with_settings(root: Path, groups: Sequence[Group], folders: Sequence[Path]) -> list[tuple[Path, Finding]]:
    """Gives runs the configuration that Hydra wrote beside them; of several, as after restarts, the last one counts."""
    notes = []
    for folder in sorted(folders):
        settings = hydra.settings_in(folder)
        number = _beside(root, groups, folder / hydra.FOLDER)
        if number is None or not settings:
            continue
        training = groups[number].training or TrainingInput(settings[0])
        if training.settings:
            text = f"several {hydra.FOLDER} folders belong to this run: the configuration is that of {folder.name}"
            notes.append((groups[number].paths[0], Finding("info", "several_settings", text)))
        groups[number].training = replace(training, settings=settings)
    return notes


def joined_engines(runs: Sequence[RunInput]) -> list[RunInput]:
    """The runs of a side; metrics of rollout engines that were given as an input of their own belong to its only run.

    Raises:
        UsageError: the side has several runs.
    """
    engines = [run for run in runs if not run.captures and run.training and not divided([run.training])[1]]
    others = [run for run in runs if run not in engines]
    if not engines or not others:
        return list(runs)
    if len(others) > 1 or others[0].is_store:
        where = "metrics cannot be added to a store" if len(others) == 1 else f"the side has {len(others)} runs"
        raise UsageError(f"{engines[0].root}: {where}: put the file into the folder of the run that it belongs to")
    (run,) = others
    metrics = tuple(source for engine in engines if engine.training for source in engine.training.metrics)
    first = engines[0].training
    training = replace(run.training, metrics=run.training.metrics + metrics) if run.training else first
    return [replace(run, training=training)]


def of_no_run(entry: TrainingInput, problem: str = "it is unclear which run its metrics belong to") -> Problem:
    remedy = "Pass only the run that it belongs to, or make a run directory with a run.json"
    return Problem(entry.path, problem, remedy, "metrics_of_no_run")
