"""One entry of the summary."""

from __future__ import annotations

from typing import NamedTuple

from rlcompare.language import tr


class SummaryItem(NamedTuple):
    """One entry of the summary.

    Attributes:
        key: ``baseline``, ``new``, ``differs``, ``headline``, ``stability`` (only if there is a symptom), ``workload``,
            ``cause``, ``events``, ``phases``, ``sampling``, ``ranks``, ``quality``, ``rest``, ``next``.
        label: the word in front.
        parts: texts of one entry; a line may be broken between them.
        lines: maximum number of lines on a terminal if space is short; ``None``: as many as it needs.
        spare: whether it only says that nothing is known, so that it may be left out on a terminal if space is short.
        shorter: alternatives to ``parts`` with the same content in fewer words, the longest first, if space is short.
    """

    key: str
    label: str
    parts: tuple[str, ...]
    tone: str = ""
    lines: int | None = 1
    shorter: tuple[tuple[str, ...], ...] = ()
    spare: bool = False

    def first(self, number: int) -> tuple[str, ...]:
        """The first ``number`` parts. If there are more, the last one says how many."""
        more = len(self.parts) - number
        return (*self.parts[:number], tr("+{n} more", n=more)) if more > 0 else self.parts
