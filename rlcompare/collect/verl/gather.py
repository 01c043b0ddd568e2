"""Makes a run directory of a verl job's output: lists captures with their steps, and explains missing ones."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rlcompare.collect.run_directory import LOG
from rlcompare.collect.verl.ask import Installed
from rlcompare.collect.verl.job import Ended
from rlcompare.collect.verl.keys import keys_of, number, roles_of
from rlcompare.collect.verl.planned import VerlPlan
from rlcompare.model.run import METRICS

_FOLDERS = ("_ascend_pt",)
_FILES = (".json.gz", ".trace.json", ".nsys-rep", ".sqlite", ".pickle")
_WHOLE_STEP = ("e2e", "train")
_ASCEND = re.compile(r"(.+)_(\d+)_(\d{17})_ascend_pt")
_STEP_IN_NAME = re.compile(r"(?:^|_)step(\d{1,9})(?:_|$)")
_PARSED = "ASCEND_PROFILER_OUTPUT"
_MOST_LINE = 1 << 24
_CONSOLE = re.compile(rb"\bstep:(\d{1,12}) - ")


def find_captures(profile: Path, folder: Path, steps: Sequence[int]) -> list[dict[str, Any]]:
    """The captures below a folder, as entries of run.json, with the step if known.

    verl's folders name the role. If they do not name the step, the windows of one process over whole steps are assigned
    to the profiled steps, in order, if there are as many.

    Args:
        profile: where the job wrote its profiles.
        folder: the run directory, to which the paths are relative; a capture elsewhere keeps its own path.
    """
    found = captures_in(profile)
    known = {path: _stated_step(path, profile) for path in found}
    for windows in _by_process(path for path in found if known[path] is None and path.parent.name in _WHOLE_STEP):
        if len(windows) == len(steps):
            known |= dict(zip(windows, sorted(steps), strict=True))
    entries = []
    for path in found:
        place = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
        step = known[path] if known[path] is not None else steps[0] if len(steps) == 1 else None
        entries.append({"path": place} | ({} if step is None else {"step": step}))
    return entries


def captures_in(folder: Path) -> list[Path]:
    """The capture folders and files below a folder."""
    return sorted(_captures(folder))


def take_over(profile: Path, target: Path, before: Collection[Path]) -> str | None:
    """Adds the captures that a job wrote to the user's own folder to the run directory too.

    They are hard-linked, which takes no space; on another file system they are copied.

    Args:
        profile: the user's folder.
        target: the profile folder of the run directory.
        before: captures that were there before the job, and do not belong to it.

    Returns:
        A message for the user if it failed; None: it worked.
    """
    try:
        for path in captures_in(profile):
            if path in before:
                continue
            place = target / path.relative_to(profile)
            place.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                shutil.copytree(path, place, symlinks=True, copy_function=_second_name)
            else:
                _second_name(path, place)
    except OSError as error:  # a shutil.Error contains one error per file
        reason = error.strerror or str(error)[:200]
        return f"the profiles in {profile} could not be moved into the run directory ({reason}): copy them to {target}"
    return None


def _second_name(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _captures(folder: Path) -> Iterator[Path]:
    """Capture folders and files; does not look below a capture folder or follow links."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_symlink():
                continue
            if path.is_dir():
                yield from [path] if path.name.endswith(_FOLDERS) else _captures(path)
            elif path.name.endswith(_FILES):
                yield path


def _stated_step(path: Path, profile: Path) -> int | None:
    match = _STEP_IN_NAME.search(path.name.split(".")[0])
    if match:
        return int(match[1])
    for name in path.relative_to(profile).parts[:-1]:
        match = re.fullmatch(r"(?:step)?(\d{1,9})", name)
        if match:
            return int(match[1])
    return None


def _by_process(paths: Iterator[Path]) -> list[list[Path]]:
    """Folders of torch_npu by host and process, in order of time."""
    groups: dict[tuple[str, str], list[tuple[str, Path]]] = defaultdict(list)
    for path in paths:
        match = _ASCEND.fullmatch(path.name)
        if match:
            groups[match[1], match[2]].append((match[3], path))
    return [[path for _, path in sorted(group)] for group in groups.values()]


def steps_that_ran(folder: Path) -> list[int]:
    """The training steps that a run logged, from its metrics file or else from the console."""
    return _steps_of_file(folder / METRICS) or _steps_of_console(folder / LOG)


def _steps_of_console(path: Path) -> list[int]:
    with suppress(OSError), path.open("rb") as file:
        lines = (_CONSOLE.search(line) for line in iter(lambda: file.readline(_MOST_LINE), b""))
        return [int(match[1]) for match in lines if match]
    return []


def _steps_of_file(path: Path) -> list[int]:
    steps = []
    with suppress(OSError), path.open("rb") as file:
        while line := file.readline(_MOST_LINE):
            with suppress(ValueError, RecursionError):
                value = json.loads(line)
                step = number(value.get("step")) if isinstance(value, dict) else None
                steps += [] if step is None else [step]
    return steps


def fetch_metrics(plan: VerlPlan, target: Path) -> None:
    """Copies the metrics into the run directory if the user's environment redirected them."""
    if plan.metrics is not None and plan.metrics != target:
        with suppress(OSError):
            shutil.copyfile(plan.metrics, target)


def without_output(captures: Sequence[dict[str, Any]], folder: Path) -> list[str]:
    """Captures of torch_npu that were not parsed."""
    places = [capture["path"] for capture in captures if capture["path"].endswith(_FOLDERS)]
    return [place for place in places if not (folder / place / _PARSED).is_dir()]


def why_no_profile(installed: Installed, plan: VerlPlan, ran: Sequence[int], ended: Ended) -> list[str]:
    """Why a job may have left no profile: reasons found in its data, else known causes.

    Args:
        ran: the steps for which it logged metrics.
        ended: how the job ended.
    """
    key = keys_of(installed).steps
    seen = []
    if ran and max(ran) < min(plan.steps):
        seen.append(f"it ended after step {max(ran)}, and the first step to profile is {min(plan.steps)} ({key})")
    elif ran and max(plan.steps) < min(step for step in ran if step > 0 or len(ran) == 1):
        first = min(step for step in ran if step > 0 or len(ran) == 1)
        seen.append(
            f"it started with step {first}, after the steps to profile ({key}): it resumed from a checkpoint "
            "(to start from scratch, set trainer.resume_mode=disable)"
        )
    elif not ran and (ended.code or ended.received):
        seen.append("it ended before its first step was complete")
    if seen:
        return seen
    nodes = number(installed.value("trainer.nnodes")) or 1
    causes = {
        f"the workers run on other machines, which do not share {plan.profile}": nodes > 1,
        "torch_npu logs its errors and continues: search job.log for [ERROR] and profiler": plan.tool == "npu",
        "the device's libraries for profiling (CANN's msprof, CUPTI) are missing: see rlcompare doctor": True,
        f"the disk of {plan.profile} is full": True,
        "the Ray cluster was already running, as another user or on another file system": True,
        f"the roles that are profiled ({', '.join(roles_of(installed))}) did not run on the chosen ranks": True,
        "the report is in /tmp/ray/session_latest/logs/nsight of the worker's machine": plan.tool == "nsys",
    }
    return [cause for cause, may_be in causes.items() if may_be]
