"""Which captures each side has of every role and phase, and whether their times on the device are known on both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rlcompare.compare.records import GroupOfCaptures
from rlcompare.model.diff import Finding
from rlcompare.model.words import SIDES, Severity, SideName

LOST_ALIKE = 0.2
"""The parts of a phase's captures that lost their times on the device may differ by this between the sides."""


class _Counted(NamedTuple):
    """The captures of a role and phase on one side, per run.

    Attributes:
        timed: those whose times on the device are known.
        lost: those without, although another one of the same member has some.
    """

    made: float
    timed: float
    lost: float


def captures_found(groups: Sequence[GroupOfCaptures]) -> list[Finding]:
    """Roles and phases that one side alone recorded, in whole or on the device, and those with other numbers."""
    findings = []
    lone = _lone(groups)
    for group in groups:
        what, sides = _words(group), [_counted(group, side) for side in SIDES]
        baseline, new = (f"{side.made:g}" for side in sides)
        severity = Severity.SEVERE
        if (group.baseline == 0) != (group.new == 0):
            where = "new side" if group.baseline == 0 else "baseline"
            message = f"Only the {where} has captures of {what}: their time counts on one side only."
        elif group in lone:
            where = "new side" if group.new_timed else "baseline"
            baseline, new = (f"{side.made:g}" + ("" if side.timed else " untimed") for side in sides)
            message = f"Only the {where} has times on the device of {what}: they count on one side only."
        elif _is_cut(group):
            baseline, new = (
                f"{side.lost:g} of {side.made:g} lost" if side.lost else f"{side.made:g}" for side in sides
            )
            message = f"The times on the device of captures of {what} were lost, not as many on both sides."
        elif group.baseline != group.new and group.folder:
            summed = "those of one rank and step are summed"
            if group.baseline_each == group.new_each:
                severity = Severity.INFO
            else:
                severity = Severity.CAUTION
                summed += ", so captures that are missing on one side count as less work"
            message = f"{baseline} captures of {what} against {new} per run: {summed}."
        else:
            continue
        findings.append(Finding("captures", baseline, new, severity, message))
    return findings


def lone_phases(groups: Sequence[GroupOfCaptures]) -> dict[str, SideName]:
    """The phases of which one side alone has times on the device, in whatever role, and that side."""
    lone = _lone(groups)
    found: dict[str, SideName] = {}
    for phase in dict.fromkeys(group.folder for group in lone if group.folder):
        of_phase = [group for group in groups if group.folder == phase]
        if all(group in lone for group in of_phase) and len({group.new_timed == 0 for group in of_phase}) == 1:
            found[phase] = "new" if of_phase[0].new_timed else "baseline"
    return found


def are_times_whole(groups: Sequence[GroupOfCaptures]) -> bool:
    """Whether no times on the device are missing on one side alone, but those of whole phases."""
    whole_phases = lone_phases(groups)
    return all(group.folder in whole_phases for group in _lone(groups)) and not any(map(_is_cut, groups))


def without_times(groups: Sequence[GroupOfCaptures], side: SideName) -> list[str]:
    """The captures of a side whose times on the device are unknown, in words, if those of others are known."""
    counted = [(_words(group), _counted(group, side)) for group in groups]
    if not any(one.timed for _, one in counted):
        return []
    whole = [name for name, one in counted if one.made and not one.timed]
    return whole + [f"captures of {name}" for name, one in counted if one.lost]


def _words(group: GroupOfCaptures) -> str:
    """The role and phase."""
    return " ".join(filter(None, (group.role, group.folder))) or "whole steps"


def _counted(group: GroupOfCaptures, side: SideName) -> _Counted:
    if side == "baseline":
        return _Counted(group.baseline, group.baseline_timed, group.baseline_lost)
    return _Counted(group.new, group.new_timed, group.new_lost)


def _lone(groups: Sequence[GroupOfCaptures]) -> list[GroupOfCaptures]:
    """The roles and phases of which one side alone has times on the device, where both sides have some."""
    if not (any(group.baseline_timed for group in groups) and any(group.new_timed for group in groups)):
        return []
    return [group for group in groups if (group.baseline_timed == 0) != (group.new_timed == 0)]


def _is_cut(group: GroupOfCaptures) -> bool:
    """Whether the sides lost the times of parts of their captures that differ in size."""
    baseline, new = (one.lost / one.made if one.made else 0.0 for one in (_counted(group, side) for side in SIDES))
    return abs(baseline - new) > LOST_ALIKE
