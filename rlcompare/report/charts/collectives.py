"""Collectives by size and bandwidth: each kind has a shape, each size within a factor of two a dot on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rlcompare.language import listed, sentences, tr, trn, with_label
from rlcompare.model.diff import Diff
from rlcompare.model.pictures import SizedCollectives
from rlcompare.model.size import in_binary_unit
from rlcompare.model.words import SIDES, SideName
from rlcompare.report import quantity
from rlcompare.report.charts.chart import Chart, TextTable
from rlcompare.report.charts.scatter import SHAPES, Axis, Dot, Scatter, is_drawn, joined, log_axis, place
from rlcompare.report.sides import side_label
from rlcompare.text import safe_text

MOST_PAIRS = 40
"""Of more sizes, those that take the most time are drawn."""

MOVED = 0.05
"""Relative change of a bandwidth that is worth a sentence, if it changes all their time by as much."""


class _Pair(NamedTuple):
    """Collectives of one kind and size on both sides."""

    baseline: SizedCollectives | None
    new: SizedCollectives | None

    def of(self, side: SideName) -> SizedCollectives | None:
        return self.baseline if side == "baseline" else self.new

    @property
    def any(self) -> SizedCollectives:
        found = self.new or self.baseline
        assert found is not None
        return found

    @property
    def ms(self) -> float:
        return sum(one.ms for one in (self.baseline, self.new) if one)


def collectives_chart(diff: Diff) -> Chart | None:
    """The picture; None if no collective has a known size."""
    known = [one for one in diff.pictures.collectives if one.power is not None and one.bytes and one.calls > 0]
    moving = bool(known) and all(one.transit_ms for one in known)
    known = [one for one in known if is_drawn(size_of(one), _ms(one, moving)) and is_drawn(_bandwidth(one, moving))]
    if not known:
        return None
    pairs = sorted(_paired(known), key=lambda pair: -pair.ms)
    shown = pairs[:MOST_PAIRS]
    return Chart(
        name="collectives",
        title=tr("Collectives by size and bandwidth"),
        finding=_finding(shown, moving),
        note=_note(diff, moving, len(pairs) - len(shown)),
        content=_scatter(shown, moving),
        table=_table(shown, moving),
    )


def _ms(one: SizedCollectives, moving: bool) -> float:
    return (one.transit_ms if moving else one.ms) or 0.0


def size_of(one: SizedCollectives) -> float:
    """Bytes per call."""
    return (one.bytes or 0.0) / one.calls


def _bandwidth(one: SizedCollectives, moving: bool) -> float:
    """GB/s: bytes of all calls by their time."""
    return (one.bytes or 0.0) / (_ms(one, moving) * 1e6)


def _paired(known: Sequence[SizedCollectives]) -> list[_Pair]:
    """By kind and size; where a kind has one size on each side, these two also if they differ."""
    by_side = {side: {(one.kind, one.power): one for one in known if one.side == side} for side in SIDES}
    left = {side: [one for key, one in by_side[side].items() if key not in by_side[_other(side)]] for side in SIDES}
    pairs = [
        _Pair(by_side["baseline"][key], by_side["new"][key])
        for key in by_side["baseline"].keys() & by_side["new"].keys()
    ]
    for kind in dict.fromkeys(one.kind for one in known):
        old, new = ([one for one in left[side] if one.kind == kind] for side in SIDES)
        if len(old) == len(new) == 1:
            pairs.append(_Pair(old[0], new[0]))
        else:
            pairs += [*(_Pair(one, None) for one in old), *(_Pair(None, one) for one in new)]
    return sorted(pairs, key=lambda pair: (pair.any.kind, pair.any.power or 0))


def _is_alike(pair: _Pair) -> bool:
    """Whether the sizes of both sides differ by less than a factor of two: others have another bandwidth anyway."""
    sizes = [size_of(one) for one in (pair.baseline, pair.new) if one]
    return max(sizes) < 2 * min(sizes)


def _other(side: SideName) -> SideName:
    return "new" if side == "baseline" else "baseline"


def _scatter(pairs: Sequence[_Pair], moving: bool) -> Scatter:
    drawn = [one for pair in pairs for one in (pair.baseline, pair.new) if one]
    x = log_axis(tr("size per call"), [size_of(one) for one in drawn], _bytes, binary=True)
    rates = [_bandwidth(one, moving) for one in drawn]
    y = log_axis(_rate_title(moving), rates, lambda value: f"{value:,g}", downwards=True)
    kinds = list(dict.fromkeys(pair.any.kind for pair in pairs))
    shapes = {kind: SHAPES[min(at, len(SHAPES) - 1)] for at, kind in enumerate(kinds)}
    dots = [tuple(_dot(pair.of(side), x, y, shapes, moving) for side in SIDES) for pair in pairs]
    return Scatter(
        x=x,
        y=y,
        dots=tuple(dot for pair in dots for dot in pair if dot),
        moves=joined([(old, new) for old, new in dots]),
        levels=(),
        keys=tuple((shapes[kind], safe_text(kind, 40)) for kind in kinds),
    )


def _dot(one: SizedCollectives | None, x: Axis, y: Axis, shapes: dict[str, str], moving: bool) -> Dot | None:
    if one is None:
        return None
    text = with_label(listed((safe_text(one.kind, 40), side_label(one.side))), listed(_texts(one, moving)))
    rate = place(y, _bandwidth(one, moving), downwards=True)
    return Dot(place(x, size_of(one)), rate, one.side, shapes[one.kind], text)


def _texts(one: SizedCollectives, moving: bool) -> tuple[str, str, str, str]:
    return (
        quantity.quantity(size_of(one), "bytes"),
        trn("{n} call", "{n} calls", 1) if one.calls == 1 else tr("{n} calls", n=_calls(one.calls)),
        quantity.quantity(_ms(one, moving), "ms"),
        f"{quantity.brief(_bandwidth(one, moving))} GB/s",
    )


def _calls(calls: float) -> str:
    """A mean over steps and ranks."""
    return quantity.amount(round(calls, 2), "")


def _bytes(value: float) -> str:
    size, unit = in_binary_unit(value)
    return f"{size:.3g} {unit}"


def _rate_title(moving: bool) -> str:
    return tr("GB/s while data moves") if moving else tr("GB/s, with waiting")


def _finding(pairs: Sequence[_Pair], moving: bool) -> str:
    """The pair of about one size whose time changed most, if its bandwidth changed too, each by ``MOVED``.

    A time: by this part of that of all.
    """
    sides = [[one for pair in pairs if (one := pair.of(side))] for side in SIDES]
    if not all(sides):
        return ""
    alike = [(pair.baseline, pair.new) for pair in pairs if pair.baseline and pair.new and _is_alike(pair)]
    if not alike:
        return tr("No collectives of about the same size are on both sides: no bandwidth is compared.")
    whole = max(sum(_ms(one, moving) for one in side) for side in sides)
    moved = [
        (old, new)
        for old, new in alike
        if abs(_bandwidth(new, moving) / _bandwidth(old, moving) - 1) >= MOVED
        and abs(_ms(new, moving) - _ms(old, moving)) >= MOVED * whole
    ]
    if not moved:
        limit = quantity.share(MOVED)
        if len(alike) < len(pairs):
            return tr(
                "Among the sizes on both sides, no change of bandwidth altered the total time of collectives by"
                " {limit}.",
                limit=limit,
            )
        return tr("No change of bandwidth altered the total time of collectives by {limit}.", limit=limit)
    old, new = max(moved, key=lambda pair: abs(_ms(pair[1], moving) - _ms(pair[0], moving)))
    return tr(
        "{kind} of {size}: {rates} GB/s, {times}.",
        kind=safe_text(old.kind, 40),
        size=" → ".join(dict.fromkeys(quantity.quantity(size_of(one), "bytes") for one in (old, new))),
        rates=" → ".join(quantity.brief(_bandwidth(one, moving)) for one in (old, new)),
        times=quantity.pair(_ms(old, moving), _ms(new, moving), "ms"),
    )


def _note(diff: Diff, moving: bool, hidden: int) -> str:
    texts = [
        tr("A dot is the mean of collectives of one kind whose sizes differ by less than a factor of two."),
        tr("An arrow leads from the baseline to the new side. Times are per rank and step."),
        tr("Waiting for other ranks is left out.")
        if moving
        else tr("The time includes waiting for ranks that start later: it cannot be separated for all collectives."),
    ]
    unknown = sum(one.calls for one in diff.pictures.collectives if one.power is None)
    if unknown:
        texts.append(tr("Calls of both sides without a size: {n}.", n=_calls(unknown)))
    if hidden > 0:
        texts.append(tr("Not drawn: {n} sizes that take less time.", n=f"{hidden:,}"))
    return sentences(texts)


def _table(pairs: Sequence[_Pair], moving: bool) -> TextTable:
    columns = [tr("kind")]
    for side in SIDES:
        name = side_label(side)
        columns += [
            f"{tr('size per call')}, {name}",
            f"{tr('calls')}, {name}",
            f"{tr('time')}, {name}",
            f"GB/s, {name}",
        ]
    rows = []
    for pair in pairs:
        cells = [safe_text(pair.any.kind, 40)]
        for side in SIDES:
            one = pair.of(side)
            cells += [quantity.ABSENT] * 4 if one is None else _cells(one, moving)
        rows.append(tuple(cells))
    return TextTable(tuple(columns), (False, *(True for _ in columns[1:])), tuple(rows))


def _cells(one: SizedCollectives, moving: bool) -> list[str]:
    return [
        quantity.quantity(size_of(one), "bytes"),
        _calls(one.calls),
        quantity.quantity(_ms(one, moving), "ms"),
        quantity.brief(_bandwidth(one, moving)),
    ]
