"""What the numbers of a ``diff.json`` must not contradict, whatever was read. They need no other source of truth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]
Contradiction = tuple[str, str]

LONGEST_MS = 10 * 366 * 24 * 3600 * 1000
"""No time of a step is longer than ten years."""


def contradictions(document: Document) -> Iterator[Contradiction]:
    """Each contradiction: where it is, and what it is."""
    yield from _times(document)


# The device may end after the host's step has: then time.tail is negative (docs/design.md §4).
def _times(document: Document) -> Iterator[Contradiction]:
    for row in document["overall"]:
        for side in ("baseline", "new"):
            value = row[side]
            if value is None or row["unit"] != "ms":
                continue
            if value < 0 and row["metric"] != "time.tail":
                yield f"overall.{row['metric']}.{side}", f"{value} ms is negative"
            if value > LONGEST_MS:
                yield f"overall.{row['metric']}.{side}", f"{value} ms is beyond any sense"
