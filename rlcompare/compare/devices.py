"""The finding that a log's own rate tells of other numbers of devices: verl's throughput is that of one device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import log2

from rlcompare.compare.overall import SPEED
from rlcompare.compare.training import TOTAL
from rlcompare.model.diff import Delta, Finding
from rlcompare.model.words import SIDES, Severity

_RATE = "perf/throughput"
_APART = 0.5
"""Binary logarithm of the ratio of two numbers of devices from which they differ: means of steps are not exact."""


def devices_found(overall: Mapping[str, Delta]) -> Iterator[Finding]:
    """A caution if tokens per second, by tokens and time, are other multiples of those of a device on the two sides.

    Args:
        overall: the overall metrics, by id.
    """
    numbers = []
    for side in SIDES:
        found = [overall.get(metric) for metric in (TOTAL, SPEED, _RATE)]
        tokens, time, rate = (None if delta is None else delta.value(side) for delta in found)
        if not tokens or not time or not rate or min(tokens, time, rate) <= 0:
            return
        numbers.append(tokens / (time * rate))
    baseline, new = numbers
    if baseline < 1 - _APART or new < 1 - _APART or abs(log2(new / baseline)) < _APART:
        return
    text = (
        f"By tokens, time and {_RATE}, which counts per device, the baseline has about {baseline:.0f} devices and"
        f" the new side {new:.0f}, so their steps are not comparable; or it counts in another way on one of them."
    )
    yield Finding("devices", f"{baseline:.1f}", f"{new:.1f}", Severity.CAUTION, text)
