"""How large a part of the change a cause is: its share, or its time where the change is small beside its causes.

Where others made up for most of a cause, its share says little: 7.2 ms are 312 % of a change of 2.3 ms. Shares are
whole percents that sum to 100: those that lie the farthest from a whole one give way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rlcompare.language import tr
from rlcompare.model.diff import Diff
from rlcompare.report import quantity

BEYOND = 1.1
"""Share of the change from which a cause is much larger than the change."""


_SECONDS_FROM = 1e3
"""Times in ms from which they are told in seconds: as in the sentences of causes (``compare.evidence.ms``)."""


@dataclass(frozen=True)
class Part:
    """A part of the change: whole percents, and ms."""

    percent: int
    delta_ms: float

    def __add__(self, other: Part) -> Part:
        return Part(self.percent + other.percent, math.fsum((self.delta_ms, other.delta_ms)))


@dataclass(frozen=True)
class Parts:
    """The parts of a change, of each cause and of what they leave; ``unexplained`` is None without a change."""

    causes: tuple[Part, ...]
    unexplained: Part | None

    def others(self, shown: int) -> tuple[Part, ...]:
        """The causes after the first ``shown`` as one part, or as two where some made up for others: of each sign."""
        left = self.causes[shown:]
        signs = dict.fromkeys(part.delta_ms >= 0 for part in left)
        return tuple(sum((part for part in left if (part.delta_ms >= 0) == up), Part(0, 0.0)) for up in signs)


def parts_of(diff: Diff) -> Parts:
    """The parts of the change of a diff."""
    left = diff.unexplained
    shares = tuple(cause.share for cause in diff.causes) + ((left.share,) if left else ())
    percents = _whole_percents(shares)
    causes = tuple(Part(number, cause.delta_ms) for number, cause in zip(percents, diff.causes, strict=False))
    return Parts(causes, Part(percents[-1], left.delta_ms) if left else None)


@lru_cache(maxsize=8)
def _whole_percents(shares: tuple[float, ...]) -> tuple[int, ...]:
    """Shares as whole percents with the sum of the shares, each the next one below or above its share."""
    exact = [share * 100 for share in shares]
    found = [round(share) for share in exact]
    missing = round(math.fsum(exact)) - sum(found)
    step = 1 if missing > 0 else -1
    # The largest error first; of equal ones the last, which is the smaller cause.
    order = sorted(range(len(found)), key=lambda place: (step * (found[place] - exact[place]), -place))
    for place in order[: abs(missing)]:
        found[place] += step
    return tuple(found)


def are_times(diff: Diff) -> bool:
    """Whether causes are told by their times, as one of them is much larger than the change."""
    return any(cause.share > BEYOND for cause in diff.causes)


def percent_text(part: Part) -> str:
    """``53 %``."""
    return f"{part.percent:d} %"


def part_text(diff: Diff, part: Part) -> str:
    """``53 %``, or ``+7.20 ms``."""
    return _time_text(diff, part.delta_ms) if are_times(diff) else percent_text(part)


def parts_text(diff: Diff, parts: Sequence[Part]) -> str:
    """``53 %``, or ``+53 % and -21 %``."""
    if len(parts) == 1 or are_times(diff):
        return both(part_text(diff, part) for part in parts)
    return both(signed_percent(part) for part in parts)


def signed_percent(part: Part) -> str:
    """``+53 %``."""
    return f"{part.percent:+d} %"


def both(texts: Iterable[str]) -> str:
    """The one text, or both in one."""
    first, *second = texts
    return tr("{first} and {second}", first=first, second=second[0]) if second else first


def part_of_change(diff: Diff, part: Part) -> str:
    """``53 % of the change``, or ``+7.20 ms of +2.31 ms in all``."""
    found = part_text(diff, part)
    if not are_times(diff):
        return tr("{part} of the change", part=found)
    return tr("{part} of {whole} in all", part=found, whole=_time_text(diff, math.fsum(_times(diff))))


def _times(diff: Diff) -> list[float]:
    """The parts of the change in ms; their sum is the whole."""
    return [cause.delta_ms for cause in diff.causes] + ([diff.unexplained.delta_ms] if diff.unexplained else [])


def _time_text(diff: Diff, delta_ms: float) -> str:
    """A part of the change, all in the unit of their sentences, with the decimals of the largest one."""
    times = _times(diff)
    shown = "s" if max(map(abs, times)) >= _SECONDS_FROM else "ms"
    decimals = quantity.decimals_beside(times, "ms", shown)
    return quantity.signed_quantity(quantity.in_unit(delta_ms, "ms", shown), shown, decimals)
