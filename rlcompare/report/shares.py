"""How large a part of the change a cause is: its share, or its time where the change is small beside its causes.

Where others made up for most of a cause, its share says little: 7.2 ms are 312 % of a change of 2.3 ms.
"""

from __future__ import annotations

from rlcompare.language import tr
from rlcompare.model.diff import Diff
from rlcompare.report import quantity

BEYOND = 1.1
"""Share of the change from which a cause is much larger than the change."""


def are_times(diff: Diff) -> bool:
    """Whether causes are told by their times, as one of them is much larger than the change."""
    return any(cause.share > BEYOND for cause in diff.causes)


def part(diff: Diff, share: float, delta_ms: float) -> str:
    """``53 %``, or ``+7.20 ms``."""
    return quantity.signed_quantity(delta_ms, "ms") if are_times(diff) else quantity.share(share)


def part_of_change(diff: Diff, share: float, delta_ms: float) -> str:
    """``53 % of the change``, or ``+7.20 ms of +2.31 ms in all``."""
    found = part(diff, share, delta_ms)
    if not are_times(diff):
        return tr("{part} of the change", part=found)
    whole = sum(cause.delta_ms for cause in diff.causes) + (diff.unexplained.delta_ms if diff.unexplained else 0.0)
    return tr("{part} of {whole} in all", part=found, whole=quantity.signed_quantity(whole, "ms"))
