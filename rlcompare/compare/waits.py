"""Candidates for causes in what the device waits for, and in the copies that nothing hides (docs/design.md §5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from rlcompare.compare.evidence import Evidence, moved, short
from rlcompare.compare.parts import Basis, Candidate, Part, by_name, total, whole

MOST_OF = 0.8
"""Part of a change from which one name is all that is named."""

_REASONS = {
    "data": "The time in which the device waits for data ({name}) {moved} per step.",
    "sync": "The time in which the device waits while the host synchronises ({name}) {moved} per step.",
    "gc": "The time in which the device waits while Python collects garbage {moved} per step.",
    "alloc": "The time in which the device waits while the host allocates or frees memory ({name}) {moved} per step.",
    "compile": "The time in which the device waits while the host compiles ({name}) {moved} per step.",
    "collective call": "The time in which the device waits while the host calls {name} {moved} per step.",
}
"""Kinds of waiting that are a cause for each call or operator."""

_WAITS = {
    "copy": "The time in which the device only copies {moved} per step{most}.",
    "operator": "The time in which the device waits for operators on the host {moved} per step{most}.",
    "python": "The time in which the device waits for Python code between operators {moved} per step{most}.",
    "launch": "The time in which the device waits for the launch of its next task {moved} per step.",
    "queue": "The time between tasks that were already launched {moved} per step{most}.",
    "unknown": "The time about which the profile says nothing {moved} per step.",
}
"""Kinds of waiting that are one cause: their subjects are many and small."""

_MOST = {"copy": ", most of it {name}", "operator": ", most of it for {name}", "python": ", most of it in {name}",
         "queue": ", most of it before {name}"}  # fmt: skip

_NO_OPERATOR = "The time in which no operator runs {moved} per step{most}."
"""What ``python`` is in captures without a device."""

WHAT = {kind: kind.replace(" ", "_") for kind in (*_REASONS, *_WAITS)} | {"copy": "copies"}
"""``Cause.what`` of each kind of waiting."""


def waits(evidence: Evidence, basis: Basis) -> Iterator[Candidate]:
    """The changes of what the device waited for: one candidate for each kind, or for each call of a kind."""
    for kind in _REASONS:
        for name, parts in by_name(basis.of_kind(kind)).items():
            yield _candidate(evidence, kind, name, parts)
    for kind in _WAITS:
        parts = basis.of_kind(kind)
        if parts:
            most = max(by_name(parts).items(), key=lambda item: abs(total(item[1].values())))
            yield _candidate(evidence, kind, most[0], parts, most[1])


def _candidate(
    evidence: Evidence, kind: str, name: str, parts: Mapping[int, Part], of_name: Mapping[int, Part] | None = None
) -> Candidate:
    """The candidate of a kind of waiting.

    Args:
        of_name: the parts of the largest name among several.
    """
    delta = total(parts.values())
    most = ""
    if of_name and name != kind and delta and total(of_name.values()) / delta >= MOST_OF:
        most = _MOST.get(kind, "").format(name=short(name))
    return Candidate(WHAT[kind], whole(parts), _text(evidence, kind, name, most), "account", name)


def _text(evidence: Evidence, kind: str, name: str, most: str) -> Callable[[float], str]:
    template = (_REASONS | _WAITS)[kind]
    if not evidence.on_device:
        template = _NO_OPERATOR if kind == "python" else template.replace("the device waits", "the step waits")
    return lambda delta: template.format(name=short(name), moved=moved(delta), most=most)
