"""Which captures belong to one run: verl's folders, ranks, and repeated captures (DESIGN §5).

* Captures in verl's tree below one ``save_path`` are one run; the folder's name gives step, role and phase.
* Otherwise captures of different ranks are one run, and captures of the same rank, or of none, are separate runs.

Only names of folders and ranks are looked at here; ``detect`` finds the captures.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rlcompare.model.run import CaptureInput

PROFILE_SUFFIXES = ("_ascend_pt", "_ascend_ms")
"""How folders that torch_npu and MindSpore write end."""

_ROLES: Mapping[str, tuple[str, str]] = {
    "rollout_generate": ("rollout", "generate_sequences"),
    "actor_compute_log_prob": ("actor", "old_log_prob"),
    "ref_compute_log_prob": ("ref", "ref_log_prob"),
    "actor_update": ("actor", "update_actor"),
    "compute_values": ("critic", "values"),
    "critic_compute_values": ("critic", "values"),
    "critic_update": ("critic", "update_critic"),
    # Folder names of verl's tutorial on profiling one micro-batch, whose code users paste.
    "fsdp_actor_update_profile": ("actor", "update_actor"),
    "megatron_actor_update_profile": ("actor", "update_actor"),
}
_INNER_FOLDERS = ("ASCEND_PROFILER_OUTPUT", "profile")
_WHOLE_STEP = ("e2e", "train")
_REPLICA = re.compile(r"agent_loop_rollout_replica_(\d{1,9})")
_REPLICA_DEPTH = 3
_TORCH_FILE = re.compile(r"prof_step(\d{1,9})_rank\d{1,9}.*\.json(?:\.gz)?")


@dataclass(frozen=True)
class Place:
    """Where in verl's tree a capture lies.

    Attributes:
        save_path: the folder that verl was told to save to.
        certain: a folder's name is verl's own; False where only a number stands between ``save_path`` and the capture.
    """

    save_path: Path
    certain: bool
    role: str | None = None
    phase: str | None = None
    replica: int | None = None
    step: int | None = None


def verl_place(anchor: Path) -> Place | None:
    """Reads step, role and phase from the folders above a capture, or None where they are not verl's.

    Args:
        anchor: the ``*_ascend_pt`` folder, or something directly or one level below it.
    """
    absolute = _profile_folder(anchor)
    if absolute is None:
        return _torch_place(_absolute(anchor))
    for folder in list(absolute.parents)[:_REPLICA_DEPTH]:
        match = _REPLICA.fullmatch(folder.name)
        if match:
            return Place(folder.parent, True, "rollout", "generate_sequences", int(match.group(1)))
    folder = absolute.parent
    name = folder.name.casefold()
    if name in _WHOLE_STEP or name in _ROLES:
        role, phase = _ROLES.get(name, (None, None))
        step = _number(folder.parent.name)
        save_path = folder.parent if step is None else folder.parent.parent
        return Place(save_path, True, role, phase, None, step)
    step = _number(folder.name)
    return None if step is None else Place(folder.parent, False, step=step)


def _torch_place(path: Path) -> Place | None:
    """A trace that names its step (prof_step3_rank0-of-8_…): the folder it lies in is a role's or the whole step's."""
    match = _TORCH_FILE.fullmatch(path.name)
    if match is None:
        return None
    step, folder = int(match.group(1)), path.parent
    name = folder.name.casefold()
    if name in _WHOLE_STEP or name in _ROLES:
        role, phase = _ROLES.get(name, (None, None))
        return Place(folder.parent, True, role, phase, None, step)
    return Place(folder, True, step=step)


def _profile_folder(anchor: Path) -> Path | None:
    """The ``*_ascend_pt`` folder that a capture's path is, or lies in with at most its output folder between."""
    absolute = _absolute(anchor)
    candidates = [absolute, *list(absolute.parents)[:2]]
    return next((folder for folder in candidates if folder.name.endswith(PROFILE_SUFFIXES)), None)


def _absolute(path: Path) -> Path:
    """The path as the user sees it: absolute and without ``..``, symbolic links left as they are."""
    return Path(os.path.normpath(path.absolute()))


def _number(name: str) -> int | None:
    return int(name) if name.isascii() and name.isdecimal() and len(name) <= 9 else None


def group_runs(root: Path, captures: Sequence[CaptureInput], layout: str | None) -> list[list[CaptureInput]]:
    """Divides captures into runs, gives them their place in verl's tree and their ordinals, and orders them.

    Args:
        root: the path that the user named; every capture lies below it or is it.
        layout: ``"ranks"``: all captures are one run, and those without a rank are different ranks; ``"run"``: all
            captures are one run, and its ranks are what they say; ``"runs"``: each direct subfolder of ``root`` is a
            run; None: inferred.

    Returns:
        Runs in the order of their paths; captures ordered by role, replica, rank and time.
    """
    if layout == "ranks":
        runs = [_with_ranks([_placed(capture)[0] for capture in captures])]
    elif layout == "run":
        runs = [[_placed(capture)[0] for capture in captures]]
    elif layout == "runs":
        runs = list(_by_child(root, [_placed(capture)[0] for capture in captures]).values())
    else:
        runs = _inferred(root, captures)
    return sorted((_ordered(run) for run in runs), key=lambda run: [str(capture.path) for capture in run])


def _placed(capture: CaptureInput, *, believe_number: bool = False) -> tuple[CaptureInput, Path | None]:
    """The capture with role, phase, replica and step of its place, and the save_path; unchanged if it is not verl's."""
    place = verl_place(capture.path)
    if place is None or not (place.certain or believe_number):
        return capture, None
    return (
        replace(
            capture,
            role=capture.role or place.role,  # what a run.json said counts
            phase=capture.phase or place.phase,
            replica=place.replica,
            step_hint=place.step if capture.step_hint is None else capture.step_hint,
        ),
        place.save_path,
    )


def _inferred(root: Path, captures: Sequence[CaptureInput]) -> list[list[CaptureInput]]:
    by_save_path: dict[Path, list[CaptureInput]] = defaultdict(list)
    rest: list[CaptureInput] = []
    for capture in captures:
        placed, save_path = _placed(capture, believe_number=_looks_like_verl(capture))
        if save_path is None:
            rest.append(capture)
        else:
            by_save_path[save_path].append(placed)
    loose: list[CaptureInput] = []
    for capture in rest:
        # Beside folders that are certainly verl's, SP/{step}/A and SP/A are its too.
        placed, save_path = _placed(capture, believe_number=True)
        parent = _absolute(capture.path).parent
        if save_path in by_save_path:
            by_save_path[save_path].append(placed)
        elif parent in by_save_path:
            by_save_path[parent].append(capture)
        else:
            loose.append(capture)
    return [*by_save_path.values(), *_by_rank(root, loose)]


def _looks_like_verl(capture: CaptureInput) -> bool:
    """verl passes no schedule and always switches msprof_tx on (facts: verl §1)."""
    config = capture.info.get("config")
    config = config if isinstance(config, dict) else {}
    common, experimental = config.get("common_config"), config.get("experimental_config")
    if not isinstance(common, dict) or not isinstance(experimental, dict):
        return False
    schedule = common.get("schedule")
    marked = experimental.get("_msprof_tx") is True or experimental.get("_mstx") is True
    return marked and not (isinstance(schedule, dict) and schedule)


def _by_rank(here: Path, captures: Sequence[CaptureInput]) -> list[list[CaptureInput]]:
    """Splits captures below one folder until no run holds a rank twice."""
    if not captures:
        return []
    if _distinct(captures):
        return [list(captures)]
    children = _by_child(here, captures)
    if len(children) == 1:
        child = next(iter(children))
        if all(capture.path != child for capture in captures):
            return _by_rank(child, captures)
    ranks = [{capture.rank for capture in child} for child in children.values()]
    if sum(map(len, ranks)) == len(set().union(*ranks)) and None not in set().union(*ranks):
        return _rounds(captures)  # one subfolder per rank, each with several captures
    runs: list[list[CaptureInput]] = []
    direct: list[CaptureInput] = []
    for child, members in children.items():
        if all(capture.path == child for capture in members):
            direct.extend(members)
        else:
            runs.extend(_by_rank(child, members))
    return runs + _rounds(direct)


def _distinct(captures: Sequence[CaptureInput]) -> bool:
    ranks = [capture.rank for capture in captures]
    return len(captures) == 1 or (None not in ranks and len(set(ranks)) == len(ranks))


def _by_child(here: Path, captures: Iterable[CaptureInput]) -> dict[Path, list[CaptureInput]]:
    """Captures by the direct child of ``here`` that holds them, or that they are."""
    children: dict[Path, list[CaptureInput]] = defaultdict(list)
    for capture in captures:
        parts = capture.path.relative_to(here).parts if capture.path.is_relative_to(here) else ()
        children[here / parts[0] if parts else here].append(capture)
    return dict(children)


def _rounds(captures: Sequence[CaptureInput]) -> list[list[CaptureInput]]:
    """The n-th captures of all ranks, in time, are one run; captures without a rank are each a run of their own."""
    seen: dict[int, int] = defaultdict(int)
    runs: dict[int, list[CaptureInput]] = defaultdict(list)
    unranked: list[list[CaptureInput]] = []
    for capture in sorted(captures, key=_time):
        if capture.rank is None:
            unranked.append([capture])
        else:
            runs[seen[capture.rank]].append(capture)
            seen[capture.rank] += 1
    return [*runs.values(), *unranked]


def _with_ranks(captures: Sequence[CaptureInput]) -> list[CaptureInput]:
    """Numbers captures without a rank in the order of their paths, because the user said that they are ranks."""
    taken = {capture.rank for capture in captures}
    free = (number for number in range(len(captures)) if number not in taken)
    ordered = sorted(captures, key=lambda capture: str(capture.path))
    return [c if c.rank is not None or c.replica is not None else replace(c, rank=next(free)) for c in ordered]


def _ordered(captures: Sequence[CaptureInput]) -> list[CaptureInput]:
    """Sorts a run and counts the captures of the same role, phase, replica and rank in time."""
    seen: dict[tuple[object, ...], int] = defaultdict(int)
    result = []
    for capture in sorted(captures, key=_time):
        key = (capture.role, capture.phase, capture.replica, capture.rank)
        result.append(replace(capture, ordinal=seen[key]))
        seen[key] += 1
    return sorted(result, key=lambda c: (c.role or "", _first(c.replica), _first(c.rank), _time(c)))


def _first(number: int | None) -> int:
    return -1 if number is None else number


def _time(capture: CaptureInput) -> tuple[int, bool, int, str]:
    step = -1 if capture.step_hint is None else capture.step_hint
    return (step, capture.started_ns is None, capture.started_ns or 0, str(capture.path))


def run_names(root: Path, homes: Sequence[Path]) -> list[str]:
    """For each run, by its home, the shortest path that tells it apart; a lone one is called after ``root``."""
    if len(homes) == 1:
        named = _absolute(root)
        return [(named.parent if named.name in _INNER_FOLDERS else named).name or "input"]
    common = Path(os.path.commonpath(homes))
    paths = [home.relative_to(common).parts or (home.name,) for home in homes]
    return [_shortest(index, paths) for index in range(len(paths))]


def _shortest(index: int, paths: Sequence[tuple[str, ...]]) -> str:
    """The first parts of a path that no other path begins with; equal paths are numbered."""
    own = paths[index]
    others = [path for position, path in enumerate(paths) if position != index]
    length = next((n for n in range(1, len(own)) if all(other[:n] != own[:n] for other in others)), len(own))
    number = f"#{paths[: index + 1].count(own)}" if own in others else ""
    return "/".join(own[:length]) + number


def home_of(paths: Sequence[Path]) -> Path:
    """The folder that holds a run which is made of these."""
    home = Path(os.path.commonpath([_absolute(path) for path in paths]))
    while home.name in _INNER_FOLDERS:
        home = home.parent
    return home
