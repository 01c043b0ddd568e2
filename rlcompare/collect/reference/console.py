"""What a run prints: a line for each step, and the next command to type. All metrics are in ``metrics.jsonl``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from rlcompare.model.run import RUN_JSON

_TIMER = "timing_s/"
_SHOWN = (("critic/rewards/mean", "reward"), ("actor/pg_loss", "loss"))
"""Metrics of a step's line; the first that was logged."""


def step_line(step: int, steps: int, metrics: Mapping[str, float], kind: str = "") -> str:
    """``step  3 of 12   0.205 s   gen 0.090 s (44 %)   reward 0.285   profiled``: the time and its longest phase.

    Args:
        steps: how many steps the run has.
        kind: ``warm-up``, ``profiled``, or nothing.
    """
    whole = metrics[f"{_TIMER}step"]
    phases = {
        key.removeprefix(_TIMER): value
        for key, value in metrics.items()
        if key.startswith(_TIMER) and key != f"{_TIMER}step"
    }
    parts = [f"step {step:>{len(str(steps))}} of {steps}", f"{whole:.3f} s"]
    if phases and whole > 0:
        longest = max(phases, key=lambda name: phases[name])
        parts.append(f"{longest} {phases[longest]:.3f} s ({phases[longest] / whole:.0%})".replace("%", " %"))
    parts += [f"{word} {metrics[name]:.4g}" for name, word in _SHOWN if name in metrics][:1]
    return "   ".join([*parts, kind] if kind else parts)


def next_command(folder: Path) -> str:
    """Compares a run with the one made before it beside it; shows it if there is none."""
    runs = {found: _time_of(found) for found in folder.parent.iterdir() if found.name != folder.name}
    earlier = {found: time for found, time in runs.items() if time is not None}
    if not earlier:
        return shlex.join(["rlcompare", "show", str(folder)])
    latest = max(earlier, key=lambda found: (earlier[found], found.name))
    return shlex.join(["rlcompare", "diff", "-d", str(folder), "-bp", str(latest)])


def _time_of(folder: Path) -> float | None:
    """When a run directory, or the first of its repeated runs, was written; None for anything else."""
    for file in (folder / RUN_JSON, folder / "run1" / RUN_JSON):
        try:
            return file.stat().st_mtime
        except OSError:
            continue
    return None
