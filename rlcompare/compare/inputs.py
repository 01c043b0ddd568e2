"""The inputs of a comparison: two sides and its options."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class RunStore(NamedTuple):
    """The store of one run.

    Attributes:
        name: distinguishes it from the other runs of its side.
        path: the input as the user named it, for display.
        store: the DuckDB file.
    """

    name: str
    path: str
    store: Path


class SideInput(NamedTuple):
    """One side of a comparison: its label and the stores of its runs, at least one."""

    label: str
    stores: tuple[RunStore, ...]


class CompareOptions(NamedTuple):
    """The part of the sides to compare, and the declared differences.

    Attributes:
        base_steps, new_steps: step numbers; None: all.
        ranks: global ranks of both sides; None: all.
        varied: env keys, or globs over them, that were meant to differ.
    """

    base_steps: tuple[int, ...] | None = None
    new_steps: tuple[int, ...] | None = None
    ranks: tuple[int, ...] | None = None
    varied: tuple[str, ...] = ()
