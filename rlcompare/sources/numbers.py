"""Short lists of step, rank and tick numbers."""

from __future__ import annotations

from collections.abc import Iterable


def list_numbers(numbers: Iterable[int], separator: str = ",") -> str:
    """Numbers as on the command line: ``0-3,63``."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return separator.join(str(a) if a == b else f"{a}-{b}" for a, b in spans)
