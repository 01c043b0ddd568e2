"""Names from profiles for a sentence: short, and such that two names can be told apart."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from rlcompare.text import ELLIPSIS, fit_names

_NOISE = re.compile(r"^void |\bat::native::|\(anonymous namespace\)::")
"""What names of kernels have in common, and what says nothing: it is left out of those that must be shortened."""


def shortened(name: str, length: int) -> str:
    """A name of at most so many characters: without what says nothing, and then cut at its end."""
    return _cut(_bare(name, length), length)


def short_names(names: Sequence[str], length: int) -> dict[str, str]:
    """Names that stand in one sentence, shortened; those that would then look the same are cut in the middle."""
    return dict(zip(names, fit_names([_bare(name, length) for name in names], length), strict=True))


def alike_up_to(names: Collection[str], length: int) -> int:
    """The number of characters after which names that look the same when they are shortened begin to differ."""
    bare = [_bare(name, length) for name in names]
    first, last = min(bare), max(bare)  # what these two have in common, all have
    return next((place for place, letter in enumerate(first) if letter != last[place]), len(first))


def from_difference(name: str, place: int, length: int) -> str:
    """The beginning of a name, and what stands before and after the place from which others differ from it."""
    bare = _bare(name, length)
    start = length // 3
    return _cut(bare[:start] + ELLIPSIS + bare[max(place - length // 6, start) :], length)


def _bare(name: str, length: int) -> str:
    return name if len(name) <= length else _NOISE.sub("", name) or name


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + ELLIPSIS
