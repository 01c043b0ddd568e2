"""How findings about a side and its runs are worded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from rlcompare.compare.inputs import SideInput
from rlcompare.compare.replicates import SIDE_NAMES
from rlcompare.model.diff import Finding
from rlcompare.model.words import Severity, SideName

SHOWN = 4
"""Names or numbers that a finding lists."""


class OfRun(Protocol):
    @property
    def side(self) -> SideName: ...
    @property
    def run(self) -> int: ...


def finding_of(key: str, side: SideName, severity: Severity, message: str) -> Finding:
    """A finding that begins with the name of its side."""
    return Finding(key, None, None, severity, f"{SIDE_NAMES[side]}: {message}")


def where(row: OfRun, given: Mapping[SideName, SideInput]) -> str:
    """The name of the run, if its side has several."""
    stores = given[row.side].stores
    return f"{stores[row.run].name}: " if len(stores) > 1 else ""


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
