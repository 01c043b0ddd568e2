"""Changes of single metrics at one run: which of them decides, and in which order they are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose

from rlcompare.compare.names import TOKEN_RATE
from rlcompare.compare.rows import ratio
from rlcompare.compare.training import is_beside_tokens
from rlcompare.metrics import entry

LITTLE = 0.01
"""Times that changed by less than this part of the largest change of a time are named last."""

TOKENS = "workload.total_tokens"

_PER_WORK = ("acceptance", "efficiency", "waiting")
"""What metrics tell of that a fixed cost makes worse if there is less work."""

_BESIDE_WORK = ("aborted", "staleness")
"""What metrics tell of that more work does not make worse."""


@dataclass(frozen=True)
class MetricChange:
    """A change of one metric.

    Attributes:
        before, after: medians of the runs of the levels on both sides.
        worse: None: neither direction is better.
        gradual: it drifted rather than jumped.
        undone: the metric has come back since.
    """

    metric: str
    unit: str
    before: float
    after: float
    worse: bool | None
    gradual: bool
    undone: bool

    @property
    def ratio(self) -> float | None:
        """``after / before``; None if it says nothing: either is negative, or ``before`` is 0 or next to it."""
        return ratio(self.before, self.after)


def judged_change(changes: Sequence[MetricChange], headline: str) -> tuple[tuple[MetricChange, ...], bool | None]:
    """The changes of one run, the deciding one first, and whether they are for the worse.

    The headline decides if it changed; without it, any other metric may get worse. If the tokens of a step changed,
    only what they cannot explain (``_at_other_work``).
    """
    changes = _once(changes, headline)
    by_name = {change.metric: change for change in changes}
    if TOKENS in by_name:
        lead, worse = _at_other_work(by_name, headline)
    else:
        largest = max(changes, key=_weight)
        lead = by_name.get(headline, largest)
        if lead.worse and lead.undone and not largest.undone:
            lead = largest  # the headline is as before, another metric is still worse
        worse = lead.worse
    most = max((_moved_ms(one) for one in changes), default=0.0)
    rest = sorted((one for one in changes if one is not lead), key=lambda one: (*_place(one, most), one.metric))
    return (lead, *rest), worse


def _weight(one: MetricChange) -> tuple[bool, bool, bool, float, str]:
    return bool(one.worse and not one.undone), one.worse is True, one.worse is False, _size(one), one.metric


def _once(changes: Sequence[MetricChange], headline: str) -> list[MetricChange]:
    """Without those that are one of training's timers under another name, such as that of its phase."""
    timers = [one for one in changes if one.metric.startswith("timing_s/")]
    return [
        one
        for one in changes
        if one in timers or one.metric == headline or not any(_is_same(one, timer) for timer in timers)
    ]


def _is_same(one: MetricChange, other: MetricChange) -> bool:
    """Whether two times have the same levels, in whatever unit."""
    pairs = ((one.before * _ms(one), other.before * _ms(other)), (one.after * _ms(one), other.after * _ms(other)))
    return bool(_ms(one) and _ms(other)) and all(isclose(*pair, rel_tol=1e-6) for pair in pairs)


def _place(change: MetricChange, most: float) -> tuple[int, float]:
    """Times come first by what they add to a step, the little ones last; between them the others by their ratio."""
    moved = _moved_ms(change)
    if not _ms(change):
        return 1, -_size(change)
    return (0 if moved >= LITTLE * most else 2), -moved


def _moved_ms(change: MetricChange) -> float:
    return abs(change.after - change.before) * _ms(change)


def _ms(change: MetricChange) -> float:
    """The unit of a time in ms; 0 for what is none."""
    return {"s": 1e3, "ms": 1.0}.get(change.unit, 0.0)


def _at_other_work(changes: Mapping[str, MetricChange], headline: str) -> tuple[MetricChange, bool | None]:
    """The deciding change if the tokens of a step changed, and whether it is for the worse.

    With more tokens, only a longer time per token is for the worse; with fewer, only a longer step, because a fixed
    cost makes the time per token grow. What got better must do so in the other of the two.
    """
    tokens = changes[TOKENS]
    pair = [changes.get(TOKEN_RATE), changes.get(headline)]
    slower, faster = pair if tokens.after > tokens.before else pair[::-1]
    if slower is not None and slower.worse:
        return slower, True
    if faster is not None and faster.worse is False:
        return faster, False
    lost = [one for one in changes.values() if one.worse and not one.undone and not _may_follow_work(one, tokens)]
    return (max(lost, key=_weight), True) if lost else (tokens, None)


def _may_follow_work(one: MetricChange, tokens: MetricChange) -> bool:
    """Whether more or less work may be why a metric got worse.

    With more tokens, times and memory grow, more requests wait, and longer sequences differ more; with fewer, a fixed
    cost counts for more. Neither lowers a score, makes tests slower or samples older, or aborts samples.
    """
    explains = known.explains if (known := entry(one.metric)) is not None else None
    if tokens.after > tokens.before:
        if explains in _BESIDE_WORK or is_beside_tokens(one.metric):
            return False
        return explains is not None or one.unit != ""
    return explains in _PER_WORK or one.unit.endswith("/s") or one.metric.startswith("timing_per_token_ms/")


def _size(change: MetricChange) -> float:
    ratio = change.ratio
    return max(ratio, 1 / ratio) if ratio is not None and ratio > 0 else float("inf")
