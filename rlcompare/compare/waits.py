"""Candidates for causes from the account: what the device waited for (docs/design.md §5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from rlcompare.compare.evidence import Evidence, moved, number, short
from rlcompare.model.diff import Cause, Row

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
    "copy": "The time in which the device only copies {moved} per step.",
    "operator": "The time in which the device waits for operators on the host {moved} per step.",
    "python": "The time in which the device waits for Python code between operators {moved} per step.",
    "launch": "The time in which the device waits for the launch of its next task {moved} per step.",
    "queue": "The time between tasks that were already launched {moved} per step.",
    "unknown": "The time about which the profile says nothing {moved} per step.",
}
"""Kinds of waiting that are one cause: their subjects are many and small."""

_NO_OPERATOR = "The time in which no operator runs {moved} per step."
"""What ``python`` is in captures without a device."""

WHAT = {kind: kind.replace(" ", "_") for kind in (*_REASONS, *_WAITS)} | {"copy": "copies"}
"""``Cause.what`` of each kind of waiting, the more specific ones first."""


def waits(evidence: Evidence, rows: Sequence[Row]) -> Iterator[Cause]:
    """The changes of what the device waited for.

    Args:
        rows: those of the section ``account``. Their changes sum to the change of the profile's step.
    """
    deltas: dict[tuple[str, str], float] = defaultdict(float)
    largest: dict[str, tuple[float, str]] = {}
    for row in rows:
        kind, name, delta = str(row["kind"]), str(row["name"]), number(row["delta"])
        if delta is None or kind not in WHAT:
            continue
        deltas[kind, name if kind in _REASONS else ""] += delta
        largest[kind] = max(largest.get(kind, (0.0, name)), (abs(delta), name))
    for (kind, name), delta in deltas.items():
        text = (_REASONS | _WAITS)[kind]
        if not evidence.on_device:
            text = _NO_OPERATOR if kind == "python" else text.replace("the device waits", "the step waits")
        filled = text.format(name=short(name), moved=moved(delta))
        yield evidence.profiled(WHAT[kind], delta, filled, "account", name or largest[kind][1])
