"""Candidates for causes in what the device waits for, and in the copies that nothing hides (docs/design.md §5)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import fsum

from rlcompare.compare.evidence import Evidence
from rlcompare.compare.host_reasons import host_reason, synchronisations
from rlcompare.compare.parts import (
    BETWEEN_STEPS,
    FREE,
    LATE_START,
    SAME_CHANGE,
    Basis,
    Candidate,
    Part,
    by_name,
    mean_total,
    total,
    whole,
)
from rlcompare.compare.phrases import moved, ms, short

MOST_OF = 0.8
"""Part of a kind's change that a few names must make up for them to be named, and not more than its inverse."""

_REASONS = {
    "data": "The time the device waits for data ({name}) {moved} per step.",
    "sync": "The time the device waits while the host synchronises ({name}) {moved} per step.",
    "gc": "The time the device waits while Python collects garbage {moved} per step.",
    "alloc": "The time the device waits while the host allocates or frees memory ({name}) {moved} per step.",
    "compile": "The time the device waits while the host compiles ({name}) {moved} per step.",
    "collective call": "The time the device waits while the host calls {name} {moved} per step.",
}
"""Kinds of waiting that are a cause for each call or operator, or all together if these are many."""

_WAITS = {
    "copy": "The time the device only copies {moved} per step.",
    "operator": "The time the device waits for operators on the host {moved} per step.",
    "python": "The time the device waits for Python code between operators {moved} per step.",
    "launch": "The time the device waits for the launch of its next task {moved} per step.",
    "queue": "The time between tasks that were already launched {moved} per step.",
    FREE: "The time in which the device runs nothing {moved} per step.",
    "unknown": "The time that the profile does not explain {moved} per step.",
    BETWEEN_STEPS: "The time between steps {moved} per step.",
    LATE_START: "On the critical path, the lag behind the first rank's start {moved} per step.",
}
"""Kinds of waiting that are one cause: their subjects are many and small."""

_ONE = {
    "copy": "The time the device only copies ({name}) {moved} per step.",
    "operator": "The time the device waits for {name} on the host {moved} per step.",
    "python": "The time the device waits for Python code in {name} {moved} per step.",
    "launch": "The time the device waits for the launch of {name} {moved} per step.",
    "queue": "The time before {name}, which was already launched, {moved} per step.",
    LATE_START: "The lag of {name} behind the first rank's start {moved} per step.",
}
"""The same for a single name, where few of them make up the change of the kind."""

_LATE_ON_PATH = "The step waits {more} for the late start of {name}."
"""For a rank whose own delay is not known to have changed likewise."""

_WORDS = {
    "copy": "copies",
    "operator": "operators on the host",
    "python": "Python code between operators",
    "launch": "launch of the next task",
    "queue": "time between launched tasks",
    FREE: "time in which the device runs nothing",
    "unknown": "time that the profile does not explain",
    "data": "data loading",
    "sync": "synchronisation of the host",
    "gc": "garbage collection",
    "alloc": "allocation of memory",
    "compile": "compilation",
    "collective call": "collective calls",
}
"""What stands in a list of names for the part of a kind that has none."""

_NAMELESS = frozenset({"gc"})
"""Kinds of which the sentence names no call."""

_OF_HOST = frozenset({"operator", "python", "launch", "sync", "unknown"})
"""Kinds of waiting for a host that is not ahead of the device."""

_LARGE, _FEW = 0.2, 3
"""Part of a kind's change from which a name is large, and how many may make it up."""

_NO_OPERATOR = "The time in which no operator runs{where} {moved} per step."
"""What ``python`` and ``free`` are in captures without a device."""

WHAT = {kind: kind.replace(" ", "_") for kind in (*_REASONS, *_WAITS)} | {"copy": "copies"}
"""``Cause.what`` of each kind of waiting."""


def waits(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """The changes of what the device waited for: one candidate for each call of a kind, or for each kind.

    Of kinds whose names are many, the names count if a few of them make up most of its change. Otherwise all of the
    kind is a candidate as well.
    """
    for kind in _REASONS:
        of_kind = basis.of_kind(kind)
        names = {kind: of_kind} if of_kind and kind in _NAMELESS else by_name(of_kind)
        for name, parts in names.items():
            yield _candidate(evidence, basis, kind, name, parts, _REASONS[kind])
        if len(names) > 1 and not _large(kind, names):
            yield _candidate(evidence, basis, kind, _most(names), of_kind, _REASONS[kind], whole_kind=True)
    for kind in _WAITS:
        parts = basis.of_kind(kind)
        names = by_name(parts)
        large = _large(kind, names) if kind in _ONE else []
        for name in large:
            is_late = kind == LATE_START and not _is_own(basis, names[name].values())
            yield _candidate(evidence, basis, kind, name, names[name], _LATE_ON_PATH if is_late else _ONE[kind])
        if parts and not large:
            yield _candidate(evidence, basis, kind, _most(names), parts, _WAITS[kind], whole_kind=True)


def words_of(kind: str) -> str:
    """What the part of a kind is called that has no name, or the name of the kind."""
    return _WORDS.get(kind, kind)


def _is_own(basis: Basis, parts: Collection[Part]) -> bool:
    """Whether a rank's own delay changed by about as much as the path, which may begin on other ranks than before."""
    own = basis.ranks * mean_total(parts) if all(part.mean_delta is not None for part in parts) else 0.0
    return bool(own) and 1 / SAME_CHANGE <= total(parts) / own <= SAME_CHANGE


def _most(names: Mapping[str, Mapping[int, Part]]) -> str:
    return max(names, key=lambda name: (abs(total(names[name].values())), name))


def _large(kind: str, names: Mapping[str, Mapping[int, Part]]) -> list[str]:
    """The few names that make up the change of a kind; none if it is spread, unnamed, or others made up for them."""
    delta = fsum(total(parts.values()) for parts in names.values())
    large = [
        name for name, parts in names.items() if delta and total(parts.values()) / delta >= _LARGE and name != kind
    ]  # fmt: skip
    held = fsum(total(names[name].values()) for name in large) / delta if large else 0.0
    return large if MOST_OF <= held <= 1 / MOST_OF and len(large) <= _FEW else []


def _candidate(
    evidence: Evidence,
    basis: Basis,
    kind: str,
    name: str,
    parts: Mapping[int, Part],
    template: str,
    *,
    whole_kind: bool = False,
) -> Candidate:
    where = "" if whole_kind else f" in {short(name)}"
    if not evidence.on_device:
        template = _NO_OPERATOR if kind in ("python", FREE) else template.replace("the device waits", "the step waits")

    if name == kind or whole_kind:
        template = template.replace(" ({name})", "").replace("calls {name}", "calls a collective")

    is_broad = whole_kind and kind in _OF_HOST
    delta = total(parts.values())
    reason = host_reason(evidence, basis, delta) if is_broad else synchronisations(evidence, delta)
    clause, facts = reason if kind in _OF_HOST else ("", ())

    def text(delta: float) -> str:
        more = f"{ms(delta)} {'more' if delta > 0 else 'less'}"
        said = template.format(name=short(name), moved=moved(delta), more=more, where=where)
        return f"{said.removesuffix('.')}{clause}."

    return Candidate(WHAT[kind], whole(parts), text, "account", name, facts, is_broad=is_broad)
