"""Which captures belong to one run: verl's folders, ranks, and repeated captures (docs/design.md §6).

* Captures in verl's tree below one ``save_path``, or below one per role, are one run (``sources.verl.run``).
* Otherwise captures of different ranks are one run, and captures of the same rank, or of none, are separate runs.

Only names of folders and ranks are looked at here; ``detect`` finds the captures.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from pathlib import Path

from rlcompare.model.run import CaptureInput
from rlcompare.sources.verl.marks import named_by_marks
from rlcompare.sources.verl.names import Place, absolute, process_of, rank_in_replica, verl_place
from rlcompare.sources.verl.run import (
    arranged,
    executions,
    joined_by_node,
    joined_by_role,
    numbered_in_replicas,
    numbers_are_steps,
    run_order,
)

_INNER_FOLDERS = ("ASCEND_PROFILER_OUTPUT", "profile")


_TOGETHER = 8
"""Ranks of one launch begin within a pause that is so many times shorter than those between launches."""


def group_runs(root: Path, captures: Sequence[CaptureInput], layout: str | None) -> list[list[CaptureInput]]:
    """Divides captures into runs, sets their role and step from verl's tree and their ordinals, and orders them.

    Args:
        root: the path that the user named; every capture lies below it or is it.
        layout: ``"ranks"``: all captures are one run, and those without a rank are different ranks; ``"run"``: all
            captures are one run, with ranks only where recorded; ``"runs"``: each direct subfolder of ``root`` is a
            run; None: inferred.

    Returns:
        Runs in the order of their paths; captures ordered by role, replica, rank and time.
    """
    if layout == "ranks":
        runs = [_with_ranks(_arranged([_placed(capture)[0] for capture in captures]))]
    elif layout == "run":
        runs = [_arranged([_placed(capture)[0] for capture in captures])]
    elif layout == "runs":
        placed = [_placed(capture)[0] for capture in captures]
        runs = [_arranged(run) for run in _by_child(root, placed).values()]
    else:
        runs = _inferred(root, captures)
    return sorted((_ordered(run) for run in runs), key=lambda run: [str(capture.path) for capture in run])


def _placed(capture: CaptureInput, *, believe_number: bool = False) -> tuple[CaptureInput, Path | None]:
    """The capture with role, phase, replica and step from its path, and its save_path. Unchanged if not verl's."""
    place = verl_place(capture.path)
    if place is None or not (place.certain or believe_number):
        return capture, None
    return (
        replace(
            capture,
            role=capture.role or place.role,  # a role from run.json takes precedence
            phase=capture.phase or place.phase,
            replica=place.replica,
            rank=rank_in_replica(capture.path) if _is_unranked(capture, place) else capture.rank,
            step_hint=place.step if capture.step_hint is None else capture.step_hint,
        ),
        place.save_path,
    )


def _is_unranked(capture: CaptureInput, place: Place) -> bool:
    return place.replica is not None and capture.rank is None


def _arranged(captures: list[CaptureInput]) -> list[CaptureInput]:
    """Captures that the user declared one run. In verl's tree, missing steps are inferred from their order."""
    places = [verl_place(capture.path) for capture in captures]
    return arranged(captures) if any(place is not None and place.certain for place in places) else captures


def _inferred(root: Path, captures: Sequence[CaptureInput]) -> list[list[CaptureInput]]:
    by_save_path: dict[Path, list[CaptureInput]] = defaultdict(list)
    rest: list[CaptureInput] = []
    for capture in captures:
        placed, save_path = _placed(capture, believe_number=_looks_like_verl(capture))
        if save_path is None:
            rest.append(capture)
        else:
            by_save_path[save_path].append(placed)
    for parent in _called_often(rest):
        by_save_path.setdefault(parent, [])
    loose: list[CaptureInput] = []
    for capture in rest:
        # Next to folders that are certainly verl's, SP/{step}/A and SP/A are verl's too.
        placed, save_path = _placed(capture, believe_number=True)
        parent = absolute(capture.path).parent
        if save_path in by_save_path:
            by_save_path[save_path].append(placed)
        elif parent in by_save_path:
            by_save_path[parent].append(capture)
        elif parent.parent in by_save_path and any(c.phase is not None for c in by_save_path[parent.parent]):
            by_save_path[parent.parent].append(replace(capture, phase=parent.name))  # a role unknown to this version
        else:
            loose.append(capture)
    joined = joined_by_node(joined_by_role(_without_numbers(by_save_path)))
    named = (named_by_marks(numbered_in_replicas(found)) for found in joined)
    runs = [part for found in named for part in executions(found)]
    return [*(arranged(run) for run in runs), *_by_rank(root, loose)]


def _without_numbers(by_save_path: Mapping[Path, list[CaptureInput]]) -> dict[Path, list[CaptureInput]]:
    """Treats folders named 1, 2, … as save paths of several runs if they cannot be the steps of one run."""
    result: dict[Path, list[CaptureInput]] = defaultdict(list)
    for save_path, captures in by_save_path.items():
        places = {capture.path: verl_place(capture.path) for capture in captures}
        numbered = {path: place.numbered for path, place in places.items() if place is not None and place.numbered}
        whole = any(place is not None and place.is_whole_step for place in places.values())
        are_steps = numbers_are_steps([capture for capture in captures if capture.path in numbered], whole_steps=whole)
        for capture in captures:
            folder = numbered.get(capture.path)
            if folder is None or are_steps:
                result[save_path].append(capture)
            else:
                result[folder].append(replace(capture, step_hint=None))
    return result


def _called_often(captures: Sequence[CaptureInput]) -> set[Path]:
    """Folders in which one verl process left several captures: calls without a role, in the save path itself."""
    seen: set[tuple[Path, int | None, str]] = set()
    folders: set[Path] = set()
    for capture in captures:
        process, folder = process_of(capture.path), absolute(capture.path).parent
        if process is None or not _looks_like_verl(capture):
            continue
        if (folder, capture.rank, process) in seen:
            folders.add(folder)
        seen.add((folder, capture.rank, process))
    return folders


def _looks_like_verl(capture: CaptureInput) -> bool:
    """verl passes no schedule and always switches msprof_tx on (docs/formats.md#verls-folders)."""
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
    """Runs of captures whose ranks repeat. Each capture without a rank is a separate run.

    Captures that began at about the same time are one run. Where their times do not tell, the n-th captures of all
    ranks are, by time.
    """
    ranked = sorted((capture for capture in captures if capture.rank is not None), key=run_order)
    unranked = [[capture] for capture in sorted(captures, key=run_order) if capture.rank is None]
    of_rank: dict[int | None, list[CaptureInput]] = defaultdict(list)
    for capture in ranked:
        of_rank[capture.rank].append(capture)
    rounds = [[one for one in found if one is not None] for found in zip_longest(*of_rank.values())]
    launches = None if _are_in_turn(rounds) else _launches(ranked, of_rank.values())
    return [*(launches or rounds), *unranked]


def _are_in_turn(rounds: Sequence[Sequence[CaptureInput]]) -> bool:
    """Whether all ranks have as many captures, and the n-th ones began after those before them."""
    starts = [[capture.started_ns for capture in found if capture.started_ns is not None] for found in rounds]
    whole = all(len(found) == len(rounds[0]) == len(known) for found, known in zip(rounds, starts, strict=True))
    return whole and all(max(before) < min(after) for before, after in pairwise(starts))


def _launches(
    captures: Sequence[CaptureInput], of_ranks: Iterable[Sequence[CaptureInput]]
) -> list[list[CaptureInput]] | None:
    """Captures by launch, as each launch begins all ranks at about the same time; None if times do not tell.

    The pause between two ranks must be far shorter than the shortest one after which a rank begins again: clocks of
    hosts may differ, and ranks may be profiled one after the other. Then no two ranks begin together.
    """
    if any(capture.started_ns is None for capture in captures):
        return None
    again = min((_pause(before, after) for found in of_ranks for before, after in pairwise(found)), default=None)
    if again is None:
        return None
    launches: list[list[CaptureInput]] = []
    for capture in sorted(captures, key=lambda capture: capture.started_ns or 0):
        if launches and _TOGETHER * _pause(launches[-1][-1], capture) <= again:
            launches[-1].append(capture)
        else:
            launches.append([capture])
    tell = all(map(_distinct, launches)) and any(len(launch) > 1 for launch in launches)
    return launches if tell else None


def _pause(before: CaptureInput, after: CaptureInput) -> int:
    return (after.started_ns or 0) - (before.started_ns or 0)


def _with_ranks(captures: Sequence[CaptureInput]) -> list[CaptureInput]:
    """Numbers captures without a rank in the order of their paths, because the user declared them to be ranks."""
    taken = {capture.rank for capture in captures}
    free = (number for number in range(len(captures)) if number not in taken)
    ordered = sorted(captures, key=lambda capture: str(capture.path))
    return [c if c.rank is not None or c.replica is not None else replace(c, rank=next(free)) for c in ordered]


def _ordered(captures: Sequence[CaptureInput]) -> list[CaptureInput]:
    """Sorts a run, and numbers the captures of the same role, phase, replica and rank by time."""
    seen: dict[tuple[object, ...], int] = defaultdict(int)
    result = []
    for capture in sorted(captures, key=run_order):
        key = (capture.role, capture.phase, capture.replica, capture.rank)
        result.append(replace(capture, ordinal=seen[key]))
        seen[key] += 1
    return sorted(result, key=lambda c: (c.role or "", _first(c.replica), _first(c.rank), run_order(c)))


def _first(number: int | None) -> int:
    return -1 if number is None else number


def run_names(root: Path, homes: Sequence[Path]) -> list[str]:
    """For each run, by its home, the shortest unique path. A single run is named after ``root``."""
    if len(homes) == 1:
        named = absolute(root)
        return [(named.parent if named.name in _INNER_FOLDERS else named).name or "input"]
    common = Path(os.path.commonpath(homes))
    paths = [home.relative_to(common).parts or (home.name,) for home in homes]
    return [_shortest(index, paths) for index in range(len(paths))]


def _shortest(index: int, paths: Sequence[tuple[str, ...]]) -> str:
    """The shortest prefix of a path that no other path has; equal paths are numbered."""
    own = paths[index]
    others = [path for position, path in enumerate(paths) if position != index]
    length = next((n for n in range(1, len(own)) if all(other[:n] != own[:n] for other in others)), len(own))
    number = f"#{paths[: index + 1].count(own)}" if own in others else ""
    return "/".join(own[:length]) + number


def home_of(paths: Sequence[Path]) -> Path:
    """The folder that holds a run with these paths."""
    home = Path(os.path.commonpath([absolute(path) for path in paths]))
    while home.name in _INNER_FOLDERS:
        home = home.parent
    return home


def layout_sentence(runs: Sequence[Sequence[CaptureInput]], layout: str | None) -> str:
    """How many ranks, replicas and captures were read, and as how many runs."""
    members = [{(c.replica, c.rank, c.role if c.phase is None else None) for c in run} for run in runs]
    ranks = _counted("rank", [len([member for member in run if member[0] is None]) for run in members])
    replicas = _counted("rollout replica", [len({c.replica for c in run if c.replica is not None}) for run in runs])
    captures = sum(map(len, runs))
    text = f"read as {' and '.join(filter(None, (ranks, replicas)))} × {_counted('run', [len(runs)])}"
    if captures != sum(map(len, members)):
        text += f", {captures} captures"
    return text + ("" if layout else " (use --layout to change this)")


def _counted(noun: str, counts: Sequence[int]) -> str:
    """``2 ranks``, or ``2 to 4 ranks`` if runs differ; empty if there are none."""
    least, most = min(counts), max(counts)
    number = f"{least}" if least == most else f"{least} to {most}"
    return f"{number} {noun}{'' if most == 1 else 's'}" if most else ""
