"""Translates a probe's request to ``collect.profiler``: its schedule, its tool, and a capture."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rlcompare.collect.probe.replica import FOLDER, replica_here
from rlcompare.collect.probe.request import Request
from rlcompare.collect.probe.say import in_own_words
from rlcompare.collect.profiler.record import FOLDERS, Capture, Target
from rlcompare.collect.profiler.schedule import Schedule, check_schedule
from rlcompare.errors import UsageError

if TYPE_CHECKING:
    from rlcompare.collect.profiler.plan import Options

_ROLE = "actor"
_KEYS = f"actor_rollout_ref.{_ROLE}.profiler.tool_config"
"""The branch of verl's configuration with the tools' settings; all roles have the same ones."""


@dataclass(frozen=True)
class ProbeTarget(Target):
    """A call of a probe's scope. ``facts`` are added to the profile's description."""

    facts: Mapping[str, object] = field(default_factory=dict)

    def details(self) -> dict[str, object]:
        return dict(self.facts)


def check(request: Request) -> None:
    """Refuses invalid requests before the library is imported.

    Raises:
        UsageError: the schedule needs more ticks than there are, or the tool does not support a setting.
    """
    if request.ticks is not None:
        check_schedule(schedule_of(request), request.ticks, f"probe {request.probe.name}")
    if request.settings:
        # The device is known only when recording starts. "cuda" supports all contents that the tool knows.
        _options(request, request.tool or ("npu" if find_spec("torch_npu") else "torch"), "cuda")


def schedule_of(request: Request) -> Schedule:
    """The schedule of ticks."""
    return Schedule(request.probe.granularity, **request.schedule)


def target_of(request: Request, call: int, facts: Mapping[str, object]) -> ProbeTarget:
    """The capture of one call of the scope: in verl's folder for verl's phases, else in the output folder itself."""
    probe = request.probe
    rank, world_size = rank_here()
    folder = FOLDERS.get((probe.role, probe.phase), "")
    replica = replica_here(request.output) if probe.role == "rollout" else None
    if replica is not None:
        folder = FOLDER.format(replica)
    return ProbeTarget(
        request.output / folder,
        call, rank, world_size, probe.role, probe.phase, schedule_of(request), facts,
    )  # fmt: skip


def start_capture(request: Request, target: Target) -> tuple[Capture, list[str]]:
    """Starts the tool. Also returns notes for the user.

    Raises:
        UsageError: this machine does not have the tool, or the tool does not support a setting.
        OutputError: the folder cannot be created.
    """
    from rlcompare.collect.profiler.tools import find_tool

    tool, device = _tool_here(request)
    options = _options(request, tool, device)
    found = find_tool(tool, device, None, [options])
    notes = []
    if tool == "npu" and _is_daemon():
        folder = target.folder
        notes.append(f"this process may not start others; parse {folder} afterwards with rlcompare analyse")
    return found.open(target, options), notes


def _tool_here(request: Request) -> tuple[str, str]:
    import torch

    npu: Any = getattr(torch, "npu", None)  # present if torch_npu was imported
    has_npu = npu is not None and npu.is_available()
    device = "npu" if has_npu else "cuda" if torch.cuda.is_available() else "cpu"
    return request.tool or ("npu" if has_npu else "torch"), device


def _options(request: Request, tool: str, device: str) -> Options:
    from rlcompare.collect.profiler.plan import options_of
    from rlcompare.collect.reference.config.load import load_config

    settings = dict(request.settings)
    if tool == "npu" and _is_daemon():
        settings["analysis"] = "false"  # torch_npu's analysis needs separate processes
    try:
        config = load_config([f"{_KEYS}.{tool}.{key}={value}" for key, value in settings.items()])
        return options_of(_ROLE, config.profilers[_ROLE], tool, device)
    except UsageError as error:
        reasons = [reason for reason in error.reasons if reason.startswith(_KEYS)]  # other roles repeat the actor's
        message = in_own_words("; ".join(reasons) or str(error))
        raise UsageError(f"probe {request.probe.name}, tool {tool}: {message}") from error


def _is_daemon() -> bool:
    return bool(multiprocessing.current_process().daemon)


def rank_here() -> tuple[int, int]:
    """Rank and world size of this process: of torch.distributed if initialized, else of the launcher, else 0 of 1."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    return (int(rank), int(size)) if rank.isdecimal() and size.isdecimal() else (0, 1)
