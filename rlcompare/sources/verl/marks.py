"""Finds the role of a capture from the ranges in it, if verl's folders do not name it.

Up to 0.6.1 the Megatron workers and the critic write their calls into ``save_path`` itself, and in end-to-end mode a
worker group other than the actor's has no folder in any version. Such captures are read only if they could be confused
with others of the run: a whole trace, or one table of a database.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rlcompare.model.run import CaptureInput
from rlcompare.sources.registry import find
from rlcompare.sources.verl.names import ROLES, process_of, verl_place

METHODS: Mapping[str, tuple[str | None, str]] = {
    "generate_sequences": ("rollout", "generate_sequences"),
    "compute_log_prob": ("actor", "old_log_prob"),
    "compute_ref_log_prob": ("ref", "ref_log_prob"),
    "update_critic": ("critic", "update_critic"),
    "update_actor": ("actor", "update_actor"),
    **ROLES,
}
"""Methods of verl's workers as named in their ranges: role and phase. From 0.9.1 the ranges have the roles' names."""

OTHER = "other"
"""The role of an unidentified worker group."""


def named_by_marks(captures: Sequence[CaptureInput]) -> list[CaptureInput]:
    """The captures of one save path, with role (and phase, if each is one call) from their ranges, if needed."""
    unnamed = [capture for capture in captures if _is_unnamed(capture)]
    among_whole_steps = any(capture.phase is None for capture in captures if not _is_unnamed(capture))
    among_calls = any(capture.phase is not None and capture.replica is None for capture in captures)
    if not unnamed or not (among_whole_steps or among_calls or _called_again(unnamed)):
        return list(captures)
    kinds = {id(capture): {METHODS[name] for name in _marks(capture)} for capture in unnamed}
    are_calls = not among_whole_steps and all(len(kind) < 2 for kind in kinds.values())
    are_calls &= among_calls or len(set().union(*kinds.values())) > 1
    result = []
    for capture in captures:
        kind = kinds.get(id(capture))
        roles = {role for role, _ in kind or ()}
        if kind is None:
            result.append(capture)
        elif are_calls and kind:
            role, phase = next(iter(kind))
            result.append(replace(capture, role=role, phase=phase))
        elif among_whole_steps or among_calls:
            # All roles together mean the actor's worker group: another group's start opened its ranges.
            role = next(iter(roles)) if len(roles) == 1 else None if "actor" in roles else OTHER
            result.append(replace(capture, role=role))
        else:
            result.append(capture)
    return result


def _is_unnamed(capture: CaptureInput) -> bool:
    if capture.role is not None or capture.phase is not None or capture.replica is not None:
        return False
    place = verl_place(capture.path)
    return place is None or not place.is_whole_step


def _called_again(captures: Sequence[CaptureInput]) -> bool:
    """Whether a process left several captures without a step."""
    calls: dict[tuple[int | None, str | None], int] = defaultdict(int)
    for capture in captures:
        if capture.step_hint is None:
            calls[capture.rank, process_of(capture.path)] += 1
    return max(calls.values(), default=0) > 1


def _marks(capture: CaptureInput) -> frozenset[str]:
    try:
        return find(capture.source).ranges(capture, METHODS.keys())
    except OSError:
        return frozenset()
