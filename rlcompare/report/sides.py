"""Names of the sides, for readers."""

from __future__ import annotations

from rlcompare.language import tr
from rlcompare.model.words import SideName


def side_label(side: SideName) -> str:
    """The word for a side, in the language in use."""
    return tr("baseline") if side == "baseline" else tr("new")
