"""What the checks of a ``diff.json`` share."""

from __future__ import annotations

from typing import Any

from rlcompare.compare.replicates import SIDE_NAMES

Document = dict[str, Any]
Contradiction = tuple[str, str]
"""Where it is, and what it is."""

SIDES = ("baseline", "new")

PARTLY = ("partly_measured", "unmarked_step")
"""Findings that some ranks or steps lack a time."""


def close(a: float, b: float, size: float) -> bool:
    """Whether two sums agree, but for what floats lose; ``size``: the largest of their parts."""
    return abs(a - b) <= 1e-6 + 1e-9 * abs(size)


def is_partly_measured(document: Document, side: str) -> bool:
    """Whether a finding says so of a side. Then its times are means over different ranks or steps."""
    partly = " ".join(finding["message"] for finding in document["quality"] if finding["key"] in PARTLY)
    return SIDE_NAMES[side] in partly
