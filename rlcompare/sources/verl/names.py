"""Information about a capture in verl's folder and file names, for verl 0.5 to 0.9 (taken from its wheels).

``A`` is torch_npu's folder ``{host}_{pid}_{time}_ascend_pt``, ``SP`` the ``save_path``:

* ``SP/{step}/e2e/A`` up to 0.7.0, ``SP/e2e/A`` from 0.7.1, ``SP/train/A`` from 0.9.1: the whole step of one process. A
  worker group of its own (critic, reference, reward model) has no folder: ``SP/{step}/A``, later ``SP/A``.
* ``SP/{role}/A``: one annotated call (discrete mode). Up to 0.6.1 the Megatron workers and the critic have no role:
  ``SP/A``.
* ``SP/agent_loop_rollout_replica_{r}/…`` from 0.7.1: whatever the inference engine names its files. With
  ``relocate_results`` (0.9.1) they lie in ``SP`` itself as ``rollout-replica{r}[-globalrank{g}]_…``.
* Traces of torch.profiler: ``SP/prof_start_{a}_end_{b}_rank_{r}.json`` up to 0.6.1, ``SP/prof_rank-{r}.json.gz`` in
  0.7.0, ``SP[/{role}]/prof_rank-{r}_{pid}_{time}.json.gz`` in 0.7.1 and 0.8,
  ``SP[/{role}]/{group}_{role}_rank{r}-of-{W}[_tp0-…]_pid{p}_{time}.json.gz`` in 0.9.0; the same with ``_step{n}`` and
  without a folder in 0.9.1.
* Memory snapshots: ``SP/step{n}/torch_memory_rank{r}_pid{p}.pickle`` (``steps{a}-{b}`` and ``oom_…`` in 0.9.1).
* Reports of Nsight Systems that 0.9.1 relocates: ``SP/{group}_{host}_worker_process_{pid}[.{window}].nsys-rep``.

Only names are inspected here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROFILE_SUFFIXES = ("_ascend_pt", "_ascend_ms")
"""Endings of the folders that torch_npu and MindSpore write."""

ROLES: Mapping[str, tuple[str | None, str]] = {
    "rollout_generate": ("rollout", "generate_sequences"),
    "compute_rm_score": ("reward", "reward"),
    "actor_compute_log_prob": ("actor", "old_log_prob"),
    "ref_compute_log_prob": ("ref", "ref_log_prob"),
    "compute_values": ("critic", "values"),
    "critic_compute_values": ("critic", "values"),
    "critic_update": ("critic", "update_critic"),
    "actor_update": ("actor", "update_actor"),
    # From 0.8 on the critic is updated by the general training worker, one call per mini-batch.
    "train_batch": ("critic", "update_critic"),
    # Folder names of verl's tutorial on profiling one micro-batch, whose code users paste.
    "fsdp_actor_update_profile": ("actor", "update_actor"),
    "megatron_actor_update_profile": ("actor", "update_actor"),
}
"""Folders of discrete mode: role and phase of each."""

WHOLE_STEP = ("e2e", "train")
"""Folders of the actor's worker group in end-to-end mode."""

_ROLLOUT = ("rollout", "generate_sequences")
_GROUPS: Mapping[str, str | None] = {  # worker groups, as verl's files begin with them; None: the actor's
    "actor-rollout-ref": None,
    "actor-rollout": None,
    "actor": None,
    "ref": "ref",
    "rollout": "rollout",
    "critic": "critic",
    "value-model": "critic",
    "reward": "reward",
    "reward-model": "reward",
}
_LANGUAGE_MODEL = "language-model"
MINI_BATCH = "train_batch"
"""Role of a mini-batch of the general training worker, and its phase if no other name gives it."""

_REPLICA_FOLDER = re.compile(r"agent_loop_rollout_replica_(\d{1,9})")
_REPLICA_NAME = re.compile(r"rollout-replica(\d{1,9})(?:-globalrank\d{1,9})?_.+")
_REPLICA_DEPTH = 3
_TENSOR_RANK = re.compile(r"(?:^|[-_.])TP-(\d{1,6})(?=[-_.])")
_OTHER_RANKS = re.compile(r"(?:^|[-_.])(?:DP|PP|EP)-\d")
FRONT_END = re.compile(r".*\.async_llm\.\d+\.pt\.trace\.json(?:\.gz)?")
"""Traces of vLLM's front end, a process that schedules requests and drives no device."""

_TIME = r"\d{17}"
_OWN_TRACE = re.compile(r"prof_step(\d{1,9})_rank\d{1,9}.*\.json(?:\.gz)?")
_MINI_BATCH_TRACE = re.compile(r"prof_start_\d+_end_\d+_rank_\d+\.json(?:\.gz)?")
_EARLY_TRACE = re.compile(rf"(?:(?P<head>[^_]+)_)?prof_rank-\d+(?:_(?P<pid>\d+)_{_TIME})?\.json(?:\.gz)?")
_LATE_TRACE = re.compile(
    r"(?:(?P<head>[0-9A-Za-z.=+_-]+)_)?rank\d+(?:-of-\d+)?(?:_(?:tp|pp|dp|cp)\d+(?:-(?:tp|pp|dp|cp)\d+)*)?"
    rf"_pid(?P<pid>\d+)_{_TIME}(?:_(?:cycle|part)\d+|_mb\d+(?:-\d+)?)?\.json(?:\.gz)?"
)
_MEMORY = re.compile(r"torch_memory(?:_oom)?_rank\d+_pid(?P<pid>\d+)(?:\.pickle)?\.json(?:\.gz)?")
_PART_OF_WINDOW = re.compile(r"_(?:cycle|part)\d+(?=\.json)|_mb\d+(?:-\d+)?(?=\.json)|-(?:EXTEND|DECODE)(?=\.trace\.)")
_NSIGHT = re.compile(r"(?P<head>.*?)_?worker_process_(?P<pid>\d+)(?:\.\d+)?\.(?:nsys-rep|sqlite)")
_PROCESSES = (
    re.compile(rf"(.+)_{_TIME}_ascend_(?:pt|ms)"),
    re.compile(r"(.+?)\.\d{13,19}\.pt\.trace\.json(?:\.gz)?"),
    re.compile(r".*?((?:(?:^|-)(?:TP|DP|PP|EP)-\d+)+).*\.trace\.json(?:\.gz)?"),
)


@dataclass(frozen=True)
class Place:
    """The position of a capture in verl's tree.

    Attributes:
        save_path: verl's output folder.
        certain: a name is verl's own; False if only a number lies between ``save_path`` and the capture.
        role, phase: of discrete mode, of the engine, or of a worker group that is not the actor's.
        is_whole_step: it lies in the folder of the actor's worker group in end-to-end mode.
        numbered: the folder whose name gave the step. It may instead be a save path that is named 1, 2, ….
    """

    save_path: Path
    certain: bool
    role: str | None = None
    phase: str | None = None
    replica: int | None = None
    step: int | None = None
    is_whole_step: bool = False
    numbered: Path | None = None


def verl_place(anchor: Path) -> Place | None:
    """Reads role, phase, replica and step from a capture's path; None if its names are not verl's.

    Args:
        anchor: the ``*_ascend_pt`` folder, or something directly or one level below it, or a trace's file.
    """
    path = absolute(anchor)
    folder = _profile_folder(path)
    capture = folder or path
    replica = _replica_place(capture)
    if replica is not None:
        return replica
    if folder is None:
        return _trace_place(path)
    return _folder_place(folder)


def replica_of(path: Path) -> int | None:
    """The rollout replica of a capture, or None."""
    place = verl_place(path)
    return None if place is None else place.replica


def process_of(path: Path) -> str | None:
    """Host and process id from the name of a capture; None if it has none."""
    folder = _profile_folder(absolute(path))
    name = (folder or path).name
    for pattern in _PROCESSES:
        match = pattern.fullmatch(name)
        if match:
            return match.group(1)
    patterns = (_LATE_TRACE, _EARLY_TRACE, _MEMORY, _NSIGHT)
    trace = next(filter(None, (pattern.fullmatch(name) for pattern in patterns)), None)
    return trace.group("pid") if trace else None


def window_of(path: Path) -> str:
    """The name of a capture without the parts that differ between files of one window: cycles, parts, stages."""
    return _PART_OF_WINDOW.sub("", path.name)


def rank_in_replica(path: Path) -> int | None:
    """The rank in its replica that SGLang puts into a trace's name; None unless all parallelism is tensor-parallel."""
    match = _TENSOR_RANK.search(path.name)
    return int(match.group(1)) if match and not _OTHER_RANKS.search(path.name) else None


def _replica_place(capture: Path) -> Place | None:
    for folder in list(capture.parents)[:_REPLICA_DEPTH]:
        match = _REPLICA_FOLDER.fullmatch(folder.name)
        if match:
            return Place(folder.parent, True, *_ROLLOUT, replica=int(match.group(1)))
    match = _REPLICA_NAME.fullmatch(capture.name)
    return Place(capture.parent, True, *_ROLLOUT, replica=int(match.group(1))) if match else None


def _folder_place(profile: Path) -> Place | None:
    folder = profile.parent
    named = _role_folder(folder)
    if named is not None:
        role, phase = named
        step = None if folder.name.casefold() == "train" else _number(folder.parent.name)  # "train" is later than steps
        numbered = None if step is None else folder.parent
        save_path = folder.parent if step is None else folder.parent.parent
        return Place(save_path, True, role, phase, None, step, is_whole_step=phase is None, numbered=numbered)
    step = _number(folder.name)
    return None if step is None else Place(folder.parent, False, step=step, numbered=folder)


def _role_folder(folder: Path) -> tuple[str | None, str | None] | None:
    """Role and phase of a verl folder, or None."""
    name = folder.name.casefold()
    if name in WHOLE_STEP:
        return None, None
    return ROLES.get(name)


def _trace_place(path: Path) -> Place | None:
    """A trace of torch.profiler or a report of Nsight Systems, by its own name and its folder."""
    own = _OWN_TRACE.fullmatch(path.name)
    if own:
        return _in_role_folder(path, int(own.group(1)), None, None)
    if _MINI_BATCH_TRACE.fullmatch(path.name):
        return Place(path.parent, True, *ROLES["actor_update"])
    match = _LATE_TRACE.fullmatch(path.name) or _EARLY_TRACE.fullmatch(path.name)
    if match:
        return _named_trace(path, (match.group("head") or "").split("_"))
    if _MEMORY.fullmatch(path.name):
        step = _number(path.parent.name.removeprefix("step"))
        return Place(path.parent.parent, True, step=step)
    match = _NSIGHT.fullmatch(path.name)
    if match is None:
        return None
    head = match.group("head").replace("_", "-")
    group = next((name for name in _GROUPS if head == name or head.startswith(f"{name}-")), None)
    return Place(path.parent, True, _GROUPS[group] if group else None)


def _named_trace(path: Path, words: list[str]) -> Place:
    """A trace whose name contains the worker group, the profiled call, and the step."""
    role: str | None = None
    phase: str | None = None
    step: int | None = None
    whole = False
    for word in words:
        name = word.replace("-", "_")
        number = _number(word.removeprefix("step")) if word.startswith("step") else None
        if number is not None:
            step = number
        elif name in WHOLE_STEP:
            whole = True
        elif name in ROLES:
            role, phase = ROLES[name]
        else:
            role = role or _GROUPS.get(word)
    if _LANGUAGE_MODEL in words and (role, phase) == ROLES[MINI_BATCH]:  # the same worker does supervised fine-tuning
        role, phase = None, MINI_BATCH
    place = _in_role_folder(path, step, role, phase)
    return place if not whole else Place(place.save_path, True, role, phase, None, step, is_whole_step=True)


def _in_role_folder(path: Path, step: int | None, role: str | None, phase: str | None) -> Place:
    folder = path.parent
    named = _role_folder(folder)
    if named is None:
        return Place(folder, True, role, phase, None, step)
    return Place(
        folder.parent, True, role or named[0], phase or named[1], None, step, is_whole_step=named == (None, None)
    )


def _profile_folder(path: Path) -> Path | None:
    """The ``*_ascend_pt`` folder of a capture's path: the path itself, or a parent at most one level above it."""
    candidates = [path, *list(path.parents)[:2]]
    return next((folder for folder in candidates if folder.name.endswith(PROFILE_SUFFIXES)), None)


def absolute(path: Path) -> Path:
    """The path as the user sees it: absolute and without ``..``, symbolic links left as they are."""
    return Path(os.path.normpath(path.absolute()))


def _number(name: str) -> int | None:
    return int(name) if name.isascii() and name.isdecimal() and len(name) <= 9 else None
