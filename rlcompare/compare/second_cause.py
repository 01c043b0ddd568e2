"""Which cause is worth a word beside the first."""

from __future__ import annotations

from collections.abc import Sequence

from rlcompare.compare.waits import WHAT
from rlcompare.model.diff import Cause

_LEAST_SHARE = 0.2
"""Share of the change from which a second cause is named beside the first."""

_KIND_OF_CAUSE = {
    "operator_slower": "computation", "operator_calls": "computation", "frequency": "computation",
    "compute": "computation", "straggler": "waiting", "communication": "waiting", "lost_overlap": "waiting",
    "free": "host", "preparing": "host", "tail": "host", **dict.fromkeys(WHAT.values(), "host"),
}  # fmt: skip
"""Causes of other kinds explain other parts of the step. A place (a phase, a category) holds what others explain."""


def second_cause(causes: Sequence[Cause]) -> Cause | None:
    """The next cause, of some that stand best first, that explains a substantial part which the first does not."""
    first = causes[0]
    kind = _KIND_OF_CAUSE.get(first.what)
    return next((cause for cause in causes[1:] if kind and _is_apart(cause, first)), None)


def _is_apart(cause: Cause, first: Cause) -> bool:
    kind, kind_of_first = _KIND_OF_CAUSE.get(cause.what), _KIND_OF_CAUSE[first.what]
    if kind is None or cause.share is None or cause.share < _LEAST_SHARE:
        return False
    if {kind, kind_of_first} == {"waiting", "host"}:  # a rank may come late because its host is slow
        return "straggler" not in (cause.what, first.what)
    operators = {cause.what, first.what} <= {"operator_slower", "operator_calls"}
    return kind != kind_of_first or (operators and cause.row != first.row)
