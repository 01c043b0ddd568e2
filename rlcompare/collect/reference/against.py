"""Runs of two configurations on one machine in the order A B B A, so that both sides share its drift.

An interrupted series is continued: runs that are complete and of the same configuration are kept.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from rlcompare.collect.reference.config.load import differences, load_changed, load_config, load_tree, to_dict
from rlcompare.collect.reference.config.schema import Config
from rlcompare.collect.reference.launch import Launch, check, launch
from rlcompare.collect.run_directory import prepare
from rlcompare.errors import UsageError
from rlcompare.model.run import METRICS, RUN_JSON
from rlcompare.model.words import SideName

RUNS = 5
"""Runs a side unless the user says otherwise."""

_SHOWN = 8


@dataclass(frozen=True)
class OneRun:
    """One run of a series.

    Attributes:
        overrides: the user's configuration changes, for run.json.
        is_done: whether an earlier call of the command has finished it.
    """

    side: SideName
    folder: Path
    config: Config
    overrides: tuple[str, ...]
    is_done: bool


def order(runs: int) -> list[tuple[SideName, int]]:
    """Sides and numbers of the runs, from 0, in the order in which they are made: A B B A A B B A …"""
    pairs: list[tuple[SideName, SideName]] = [("baseline", "new"), ("new", "baseline")]
    return [(side, number) for number in range(runs) for side in pairs[number % 2]]


def baseline_config(path: Path) -> tuple[Config, tuple[str, ...]]:
    """The configuration of a file in YAML, or the one that a run directory records; and its overrides.

    Raises:
        UsageError: it cannot be read, or is not one of the reference step.
    """
    if _is_yaml(path):
        return load_config((), path), ()
    recorded = path if path.is_file() else path / RUN_JSON
    if not recorded.is_file():  # a folder of repetitions
        recorded = next(iter(sorted(path.glob(f"run*/{RUN_JSON}"))), recorded)
    run = _read(recorded)
    if run is None or not isinstance(run.get("config"), dict) or run.get("launcher") is not None:
        raise UsageError(
            f"--against {path}: it is neither a configuration in YAML nor a folder that rlcompare run wrote; "
            "a verl job is repeated with rlcompare gate --extend"
        )
    overrides = run.get("config_overrides")
    return load_tree(run["config"], recorded), tuple(map(str, overrides)) if isinstance(overrides, list) else ()


def new_config(path: Path, overrides: Sequence[str]) -> tuple[Config, list[str]]:
    """The configuration of ``baseline_config`` with other values for some keys; and all its overrides.

    Raises:
        UsageError: it cannot be read, or a key or value is wrong.
    """
    config, own = baseline_config(path)
    if _is_yaml(path):
        return load_config(overrides, path), list(overrides)
    return load_changed(config, overrides, own), [*own, *overrides]


def differences_text(baseline: Config, new: Config) -> str:
    """The keys in which the sides differ, with both values. The seed is that of the new side for both."""
    shown = [
        f"{key} {json.dumps(pair[0])} → {json.dumps(pair[1])}"
        for key, pair in differences(baseline, new).items()
        if key != "data.seed"
    ]
    more = f", and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more or "nothing: both sides have the same configuration"


def plan(
    folder: Path, baseline: tuple[Config, Sequence[str]], new: tuple[Config, Sequence[str]], runs: int, force: bool
) -> list[OneRun]:
    """The runs of a series in their order; writes nothing.

    Args:
        folder: of the series, with the folders ``baseline`` and ``new``.
        runs: number a side. Runs of the same number have the same seed on both sides, so that they do the same work.
        force: make all of them anew.

    Raises:
        UsageError: a configuration cannot be run here, or the folder holds a run of another configuration.
    """
    planned = []
    for side, number in order(runs):
        config, overrides = baseline if side == "baseline" else new
        seed = new[0].data.seed + number
        config = replace(config, data=replace(config.data, seed=seed))
        target = folder / side / f"run{number + 1}"
        check(config, target)
        done = False if force else _is_done(target, config)
        planned.append(OneRun(side, target, config, (*overrides, f"data.seed={seed}"), done))
    _refuse_others(folder, planned)
    return planned


def make(planned: Sequence[OneRun], say: Callable[[str], None]) -> None:
    """Makes the runs that are missing, each in processes of its own.

    Args:
        say: receives a line for each run.

    Raises:
        UsageError: a run cannot be started. What was finished is kept; so it is if a run fails.
    """
    for number, run in enumerate(planned):
        if not run.is_done:
            prepare(run.folder, force=True)  # an unfinished run
            launch(Launch(run.config, run.overrides, run.folder, quiet=True, fresh=True))
        times = step_times(run.folder)
        steps = "1 step" if len(times) == 1 else f"the mean of {len(times)} steps"
        took = f" · timing_s/step {fmean(times):.4g} s ({steps})" if times else ""
        kept = " · kept" if run.is_done else ""
        say(f"{number + 1} of {len(planned)}: {run.side} {run.folder.name}{took}{kept}")


def step_times(folder: Path) -> list[float]:
    """The times of a run's plain steps, in s."""
    run = _read(folder / RUN_JSON) or {}
    plain = set(run.get("steps", {}).get("plain", ()))
    times = []
    for text in (folder / METRICS).read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        time = line["data"].get("timing_s/step")
        if line["step"] in plain and time is not None and math.isfinite(time):
            times.append(time)
    return times


def _is_yaml(path: Path) -> bool:
    return path.is_file() and path.name != RUN_JSON


def _is_done(folder: Path, config: Config) -> bool:
    run = _read(folder / RUN_JSON)
    if run is None:
        return False
    if run.get("config") != json.loads(json.dumps(to_dict(config))):
        raise UsageError(
            f"{folder} holds a run of another configuration: choose another folder with -o, or replace it with --force"
        )
    return run.get("status") == "complete"


def _refuse_others(folder: Path, planned: Sequence[OneRun]) -> None:
    """Refuses a folder with more runs than are planned: they would count as samples of the same side."""
    ours = {run.folder for run in planned}
    for side in ("baseline", "new"):
        for path in (folder / side / RUN_JSON, *sorted((folder / side).glob(f"*/{RUN_JSON}"))):
            if path.is_file() and path.parent not in ours:
                raise UsageError(
                    f"{path.parent} already contains a run, which would count as a sample of the same side; "
                    "choose another folder with -o"
                )


def _read(path: Path) -> dict[str, Any] | None:
    """A run.json; None if there is none, or it is damaged."""
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return run if isinstance(run, dict) else None
