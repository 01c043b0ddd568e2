"""Groups the captures in verl's tree into runs: save paths per role, restarts, and steps missing in all names.

From 0.7.1 on verl writes no step number into its folders, and in discrete mode it never did. Steps are then inferred
from time: a process goes through the phases of a step in a fixed order, so a new step begins where that order restarts.
Processes with other numbers of calls (an inference engine, a critic) are aligned with them by time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from rlcompare.model.run import CaptureInput, Finding
from rlcompare.sources.verl.marks import OTHER
from rlcompare.sources.verl.names import MINI_BATCH, ROLES, Place, process_of, verl_place, window_of

PHASE_ORDER = (
    "generate_sequences",
    "reward",
    "old_log_prob",
    "ref_log_prob",
    "values",
    "update_critic",
    "update_actor",
)
"""The phases of a step in the order in which verl's trainer calls them."""

_ONCE = ("old_log_prob", "ref_log_prob", "values", "update_actor")
"""Phases that the trainer calls once in a step; generation may be repeated, and a critic has a call per mini-batch."""

_ROLE_WORDS = frozenset({"actor", "rollout", "ref", "critic", "reward", "trainer", "model"})
_SAME_TIME_NS = 600_000_000_000
"""Captures of one job on several nodes begin within ten minutes of each other."""

_SKEW = 0.05
"""Clocks of hosts may differ by this fraction of a step."""


def run_order(capture: CaptureInput) -> tuple[int, bool, int, str]:
    """Sort key: the order of captures in time, as far as known."""
    step = -1 if capture.step_hint is None else capture.step_hint
    return (step, capture.started_ns is None, capture.started_ns or 0, str(capture.path))


def joined_by_role(by_save_path: Mapping[Path, list[CaptureInput]]) -> list[list[CaptureInput]]:
    """The captures of each run. Sibling save paths whose names differ only in the role belong to one run.

    Examples: ``profile/actor`` and ``profile/rollout``, ``exp1_actor`` and ``exp1_ref``, but not ``exp1_actor`` and
    ``exp2_actor``. A capture without a role in such a folder gets the folder's role.
    """
    families: dict[tuple[Path, str], list[Path]] = defaultdict(list)
    for save_path in by_save_path:
        words = re.findall(r"[^\W_]+|[\W_]+", save_path.name.casefold())
        rest = "".join(word for word in words if word not in _ROLE_WORDS)
        families[save_path.parent, rest if rest != "".join(words) else save_path.name].append(save_path)
    joined = []
    for members in families.values():
        if len(members) == 1:
            joined.append(by_save_path[members[0]])
        else:
            joined.append([_of_folder(capture, path) for path in members for capture in by_save_path[path]])
    return joined


def joined_by_node(groups: Sequence[list[CaptureInput]]) -> list[list[CaptureInput]]:
    """Merges captures of several nodes with separate save paths: same time, but different ranks and replicas."""
    joined: list[list[CaptureInput]] = []
    for group in sorted(groups, key=lambda group: min(map(_started, group), default=0)):
        before = next((other for other in joined if _are_of_one_job(other, group)), None)
        if before is None:
            joined.append(list(group))
        else:
            before += group
    return joined


def _are_of_one_job(a: Sequence[CaptureInput], b: Sequence[CaptureInput]) -> bool:
    members = [{(capture.replica, capture.rank) for capture in group} for group in (a, b)]
    if members[0] & members[1] or any(capture.started_ns is None for capture in (*a, *b)):
        return False
    starts = [[_started(capture) for capture in group] for group in (a, b)]
    return max(map(min, starts)) - min(map(max, starts)) < _SAME_TIME_NS


def _of_folder(capture: CaptureInput, save_path: Path) -> CaptureInput:
    """Sets the role of captures in a role's own save path. The actor's is that of the whole worker group."""
    words = set(re.findall(r"[a-z]+", save_path.name.casefold()))
    named = sorted(words & {"ref", "critic", "reward", "rollout"})
    return replace(capture, role=named[0]) if capture.role is None and len(named) == 1 else capture


def numbered_in_replicas(captures: Sequence[CaptureInput]) -> list[CaptureInput]:
    """Numbers the processes of a replica in the order of their names if its captures have no ranks."""
    processes: dict[int | None, set[str]] = defaultdict(set)
    for capture in captures:
        if capture.replica is not None and capture.rank is None:
            processes[capture.replica].add(process_of(capture.path) or capture.path.name)
    order = {key: sorted(names) for key, names in processes.items() if len(names) > 1}
    return [
        replace(capture, rank=order[capture.replica].index(process_of(capture.path) or capture.path.name))
        if capture.replica in order and capture.rank is None
        else capture
        for capture in captures
    ]


def numbers_are_steps(captures: Sequence[CaptureInput], *, whole_steps: bool) -> bool:
    """Whether the numbers of the captures' folders can be the steps of one execution.

    Each process has one window per step, and the same processes profile all steps.

    Args:
        whole_steps: the captures are windows over whole steps; in discrete mode verl writes no step folder.
    """
    windows: dict[Hashable, int] = defaultdict(int)
    numbers: dict[Hashable, set[int | None]] = defaultdict(set)
    for capture in captures:
        process = process_of(capture.path)
        windows[capture.role, capture.phase, capture.rank, process, capture.step_hint] += 1
        numbers[capture.rank, process].add(capture.step_hint)
    if len({capture.step_hint for capture in captures}) < 2:
        return whole_steps and max(windows.values(), default=0) < 2
    return max(windows.values()) < 2 and max(map(len, numbers.values())) > 1


def executions(captures: Sequence[CaptureInput]) -> list[list[CaptureInput]]:
    """Divides the content of one save path into executions. A restarted job has other processes.

    Executions with known and distinct steps are one run, which was stopped and resumed.
    """
    seen: dict[Hashable, dict[str, list[CaptureInput]]] = defaultdict(lambda: defaultdict(list))
    for capture in sorted(captures, key=_started):
        process = process_of(capture.path)
        if process is not None and capture.started_ns is not None:
            seen[capture.role, capture.phase, capture.replica, capture.rank][process].append(capture)
    most = max((len(processes) for processes in seen.values()), default=1)
    if most == 1:
        return [list(captures)]
    borders = []
    for number in range(1, most):
        whole = [list(processes.values()) for processes in seen.values() if len(processes) == most]
        last = max(_started(processes[number - 1][-1]) for processes in whole)
        first = min(_started(processes[number][0]) for processes in whole)
        if last >= first:
            return [list(captures)]  # they overlap in time: worker groups, not executions
        borders.append((last + first) // 2)
    parts: list[list[CaptureInput]] = [[] for _ in range(most)]
    for capture in captures:
        parts[bisect_right(borders, _started(capture))].append(capture)
    steps = [capture.step_hint for part in parts for capture in {c.step_hint: c for c in part}.values()]
    if None not in steps and len(set(steps)) == len(steps):
        return [list(captures)]
    return parts


def _started(capture: CaptureInput) -> int:
    return capture.started_ns or 0


@dataclass
class _Track:
    """The captures of one process, or of one worker group's rank, by time, and the step of each.

    Attributes:
        trust: how reliable its steps are: 3 they are in names, 2 whole steps or several phases, 1 one phase that is
            called once in a step, 0 anything else.
    """

    captures: list[CaptureInput]
    steps: list[int]
    trust: int

    @property
    def starts(self) -> dict[int, int]:
        """Start time of each step."""
        starts: dict[int, int] = {}
        for capture, step in zip(self.captures, self.steps, strict=True):
            starts[step] = min(starts.get(step, _started(capture)), _started(capture))
        return dict(sorted(starts.items()))


def arranged(captures: Sequence[CaptureInput]) -> list[CaptureInput]:
    """The captures of one run, with ``step_place`` if no name has their step."""
    captures = _without_critic(captures)
    tracks = [_track(members) for members in _by_process(captures).values()]
    if all(track.trust == 3 for track in tracks):
        return list(captures)
    reference = max(tracks, key=lambda track: (track.trust, len(set(track.steps))))
    result = []
    for track in tracks:
        timed = all(capture.started_ns is not None for capture in (*track.captures, *reference.captures))
        is_other = track is not reference and (
            reference.trust == 3 or len(set(track.steps)) != len(set(reference.steps))
        )
        steps = _beside(track, reference) if timed and is_other else track.steps
        result += [
            capture if capture.step_hint is not None else replace(capture, step_place=step)
            for capture, step in zip(track.captures, steps, strict=True)
        ]
    return result


def _without_critic(captures: Sequence[CaptureInput]) -> list[CaptureInput]:
    """The general worker's mini-batches are the critic's only beside another role: else they may be fine-tuning."""
    alone = all((capture.role, capture.phase) == ROLES[MINI_BATCH] for capture in captures)
    if not alone or not all(MINI_BATCH in capture.path.parts for capture in captures):
        return list(captures)
    return [replace(capture, role=None, phase=MINI_BATCH) for capture in captures]


def _by_process(captures: Sequence[CaptureInput]) -> dict[Hashable, list[CaptureInput]]:
    """Captures by time: the calls of each rank, and separately the windows over whole steps.

    A rank of several worker groups has as many processes at a time; a restarted rank has one after the other.
    """
    ranks: dict[Hashable, dict[str | None, list[CaptureInput]]] = defaultdict(lambda: defaultdict(list))
    for capture in sorted(captures, key=run_order):
        group = capture.role if capture.phase is None else "one call"
        ranks[capture.replica, capture.rank, group][process_of(capture.path)].append(capture)
    tracks: dict[Hashable, list[CaptureInput]] = {}
    for key, processes in ranks.items():
        spans = sorted((_started(calls[0]), _started(calls[-1])) for calls in processes.values())
        if any(before[1] > after[0] for before, after in pairwise(spans)):
            tracks |= {(key, process): calls for process, calls in processes.items()}
        else:
            tracks[key] = sorted((call for calls in processes.values() for call in calls), key=run_order)
    return tracks


def _track(captures: list[CaptureInput]) -> _Track:
    hints = [capture.step_hint for capture in captures if capture.step_hint is not None]
    if len(hints) == len(captures):
        return _Track(captures, hints, 3)
    phases = [capture.phase for capture in captures]
    kinds = set(phases)
    if len(kinds) == 1:
        (phase,) = kinds
        is_engine = captures[0].replica is not None
        if captures[0].role == OTHER:
            is_engine, phase = True, OTHER  # its calls are unknown
        trust = 2 if phase is None else 1 if phase in _ONCE and not is_engine else 0
        windows = list(dict.fromkeys(window_of(capture.path) for capture in captures))
        return _Track(captures, [windows.index(window_of(capture.path)) for capture in captures], trust)
    steps = [0]
    for before, phase in pairwise(phases):
        steps.append(steps[-1] + (_place_of(phase) < _place_of(before)))
    return _Track(captures, steps, 2)


def _place_of(phase: str | None) -> int:
    """Position of a phase in a step. A window over a whole step begins it."""
    return PHASE_ORDER.index(phase) if phase in PHASE_ORDER else -1


def _beside(track: _Track, reference: _Track) -> list[int]:
    """The steps of the reference in which the captures of another process began.

    A phase that comes before everything that the reference recorded in a step belongs to the next step.
    """
    numbers, starts = list(reference.starts), list(reference.starts.values())
    first = min(_place_of(capture.phase) for capture in reference.captures)
    skew = int(_SKEW * min((b - a for a, b in pairwise(starts)), default=0))
    steps = []
    for capture in track.captures:
        if -1 < _place_of(capture.phase) < first:
            index = bisect_right(starts, _started(capture) - skew)
        else:
            index = bisect_right(starts, _started(capture) + skew) - 1
        steps.append(numbers[min(max(index, 0), len(numbers) - 1)])
    return steps


def findings_of(captures: Sequence[CaptureInput]) -> Iterator[Finding]:
    """Inferred facts about a run's tree, and its missing captures."""
    derived = [capture for capture in captures if capture.step_place is not None]
    if derived:
        yield Finding("info", "steps_by_order", _order_sentence(captures, derived))
    ranks = {capture.rank for capture in captures if capture.replica is None and capture.rank is not None}
    groups: dict[tuple[str, str], set[int | None]] = defaultdict(set)
    for capture in captures:
        if capture.replica is None and capture.phase is not None:
            groups[capture.role or "", capture.phase].add(capture.rank)
    for (role, phase), present in sorted(groups.items()):
        lacking = sorted(ranks - present)
        if lacking:
            names = ", ".join(map(str, lacking[:8])) + (" …" if len(lacking) > 8 else "")
            text = f"no capture of {role} {phase} on rank {names}: its time is the mean over the other ranks"
            yield Finding("warning", "missing_capture", text)
    processes: dict[Hashable, set[str | None]] = defaultdict(set)
    for capture in captures:
        processes[capture.role, capture.phase, capture.replica, capture.rank].add(process_of(capture.path))
    restarts = max((len(found) for found in processes.values()), default=1)
    if restarts > 1 and all(capture.step_hint is not None for capture in captures):
        text = f"the job was started {restarts} times with this save_path; its steps differ, so it was read as one run"
        yield Finding("info", "restarted", text)


def shared_save_paths(runs: Sequence[Sequence[CaptureInput]]) -> Iterator[Finding]:
    """Reports a save path that holds several runs, because its processes changed."""
    found: dict[Path, int] = defaultdict(int)
    for captures in runs:
        places = ((capture, verl_place(capture.path)) for capture in captures)
        for save_path in {_save_path(capture, place) for capture, place in places if place and place.certain}:
            found[save_path] += 1
    for save_path, count in found.items():
        if count > 1:
            text = f"the job was started {count} times with save path {save_path.name}: each start is a separate run"
            yield Finding("info", "executions", text)


def _save_path(capture: CaptureInput, place: Place) -> Path:
    """The save path of a capture. If its number was not taken for a step, this is the numbered folder."""
    return place.numbered if place.numbered and capture.step_hint is None else place.save_path


def _order_sentence(captures: Sequence[CaptureInput], derived: Sequence[CaptureInput]) -> str:
    if any(capture.step_hint is not None for capture in captures):
        return (
            f"{len(derived)} of {len(captures)} captures do not name their training step: it was inferred from their"
            " start times"
        )
    steps = len({capture.step_place for capture in derived})
    phases = {capture.phase for capture in derived if capture.replica is None}
    how = "in order of time"
    if steps > 1 and len(phases) == 1 and None not in phases:
        how += f", each call of {phases.pop()} as one step"
    return f"verl does not name the training step here: {steps} {'step' if steps == 1 else 'steps'} counted {how}"
