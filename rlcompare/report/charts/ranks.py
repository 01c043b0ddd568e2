"""Ranks × phases of both sides as a heat map: which rank takes longer, in which phase, and where the path leads.

A cell holds the time that a rank spends in a phase itself; what it waits for other ranks has a column of its own, so a
row sums to the step of the rank. Its colour is the distance from the median rank of the baseline in that column, as a
part of the step: what is coloured matters, and both sides have one scale. Without ranks of the baseline, the
median rank is that of the new side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from rlcompare.language import listed, sentences, tr, trn
from rlcompare.model.diff import Diff
from rlcompare.model.pictures import Pictures
from rlcompare.model.words import SIDES, SideName
from rlcompare.report import quantity
from rlcompare.report.charts.chart import Chart, TextTable
from rlcompare.report.charts.likeness import Values, folded, kind_of, ranges
from rlcompare.report.charts.rank_values import RankValues, rank_values, total
from rlcompare.report.sides import side_label
from rlcompare.text import safe_text

FOLDED_FROM = 17
"""Fewer ranks have a row each."""

MOST_ROWS = 12

NAMED = 4
"""Groups of up to so many ranks are named by them."""

MOST_NAMED = 12
"""More ranks that differ are counted only."""

LEVELS = (0.01, 0.03, 0.1, 0.3)
"""Parts of the step from which a difference has a colour, and the next ones."""

ON_PATH = 0.05
"""Part of the path from which it is marked in a cell."""


class Cell(NamedTuple):
    """A time. ``level``: ``same``, ``more1`` to ``more4``, ``less1`` to ``less4``, or ``absent``.

    Attributes:
        delta: the distance from the reference, with a sign; empty if it is too small to have a colour.
        path: whether the critical path stays here.
        spread: ``min … max`` of the ranks that are folded; empty for one rank.
    """

    text: str
    delta: str
    level: str
    path: bool = False
    spread: str = ""


class Line(NamedTuple):
    """A row: a rank, or several alike. ``cells``: the baseline's and the new side's, column by column.

    Attributes:
        members: all ranks, as text; empty for a single one.
        mark: why it is to be looked at: it starts collectives last; else empty.
        path: the time of the path on it, by side; empty without a path.
    """

    name: str
    members: str
    mark: str
    cells: tuple[Cell, ...]
    path: tuple[str, ...]


class Strip(NamedTuple):
    """One column of one side over all ranks: a path of SVG for each level; the ranks stand one unit apart."""

    name: str
    side: SideName
    paths: tuple[tuple[str, str], ...]


class HeatMap(NamedTuple):
    """What the template draws.

    Attributes:
        columns: phases, or kinds of time; ``short`` texts of them.
        scale: what the colours mean, before the legend.
        strips: all ranks, where some are folded, in the columns in which some are far from the reference.
    """

    columns: tuple[str, ...]
    unit: str
    lines: tuple[Line, ...]
    has_path: bool
    strips: tuple[Strip, ...]
    ranks: int
    legend: tuple[tuple[str, str], ...]
    scale: str


def ranks_chart(diff: Diff) -> Chart | None:
    """The heat map; None unless a side has two ranks."""
    data = rank_values(diff.pictures)
    if data is None:
        return None
    references = data.medians("new") | data.medians("baseline")
    of_new = not data.medians("baseline")
    step = median([total(values) or 0.0 for values in references.values()])
    if step <= 0:
        return None
    late = _late(diff)
    groups: list[tuple[str, ...]] = [(rank,) for rank in data.ranks]
    tolerance = 0.0
    if len(data.ranks) >= FOLDED_FROM:
        groups, tolerance = folded({rank: data.both(rank) for rank in data.ranks}, late, step, MOST_ROWS)
    painter = _Painter(data, references, step, diff.pictures)
    lines = tuple(painter.line(group, late) for group in groups)
    is_folded = len(groups) < len(data.ranks)
    return Chart(
        name="ranks",
        title=tr("Ranks × phases") if data.has_phases else tr("Ranks × kinds of time"),
        finding=_finding(data, groups, tolerance, painter, late),
        note=_note(data, tolerance, is_folded, painter.has_path, of_new=of_new),
        content=HeatMap(
            columns=tuple(column.title for column in data.columns),
            unit=painter.unit,
            lines=lines,
            has_path=painter.has_path,
            strips=painter.strips() if is_folded else (),
            ranks=len(data.ranks),
            legend=_legend(step),
            scale=_scale(painter.unit, of_new=of_new),
        ),
        table=_table(data, lines, painter),
    )


def _late(diff: Diff) -> dict[str, list[SideName]]:
    """The ranks that start collectives last, and on which sides."""
    section, late = diff.sections.get("ranks"), {}
    for row in section.rows if section else ():
        sides = [side for side in SIDES if row.get(f"{side}_straggler") is True]
        if sides and isinstance(row["name"], str):
            late[row["name"]] = sides
    return late


def _mark(sides: Sequence[SideName]) -> str:
    if len(sides) > 1:
        return tr("starts last")
    return {"baseline": tr("starts last in baseline"), "new": tr("starts last in new")}[sides[0]] if sides else ""


class _Painter:
    """Makes cells of values."""

    def __init__(self, data: RankValues, references: Mapping[str, Values], step: float, pictures: Pictures) -> None:
        self.data, self.references, self.step = data, references, step
        largest = max((value for rank in data.ranks for value in data.both(rank) if value is not None), default=0.0)
        self.unit = quantity.shown_unit("ms", (largest,))
        self._decimals = quantity.lone_decimals(quantity.in_unit(largest, "ms", self.unit) or 0.0)
        self._path: dict[tuple[SideName, str, str], float] = {
            (piece.side, piece.rank, piece.phase): piece.ms for piece in pictures.path
        }
        self._on_rank: dict[tuple[SideName, str], float] = {}
        for (side, rank, _), ms in self._path.items():
            self._on_rank[side, rank] = self._on_rank.get((side, rank), 0.0) + ms
        self._whole = {side: sum(ms for (of, _), ms in self._on_rank.items() if of == side) for side in SIDES}
        self.has_path = bool(self._path)

    def amount(self, ms: float) -> str:
        return quantity.amount(quantity.in_unit(ms, "ms", self.unit), self.unit, self._decimals)

    def signed(self, ms: float) -> str:
        return quantity.signed(quantity.in_unit(ms, "ms", self.unit), self.unit, self._decimals)

    def level(self, delta: float) -> str:
        degree = sum(abs(delta) >= limit * self.step for limit in LEVELS)
        return f"{'more' if delta > 0 else 'less'}{degree}" if degree else "same"

    def line(self, group: Sequence[str], late: Mapping[str, Sequence[SideName]]) -> Line:
        cells = [self._cell(group, place, side) for place in range(len(self.data.columns)) for side in SIDES]
        path = [sum(self._on_rank.get((side, rank), 0.0) for rank in group) for side in SIDES]
        is_short = len(group) <= NAMED
        return Line(
            name=safe_text(ranges(group), 60) if is_short else trn("{n} rank alike", "{n} ranks alike", len(group)),
            members="" if is_short else safe_text(ranges(group), 4000),
            mark=_mark([side for side in SIDES if all(side in late.get(rank, ()) for rank in group)]),
            cells=tuple(cells),
            path=tuple(self.amount(ms) if ms else "–" for ms in path) if self.has_path else (),
        )

    def _cell(self, group: Sequence[str], place: int, side: SideName) -> Cell:
        known = [value for rank in group if (value := self._value(rank, side, place)) is not None]
        if not known:
            return Cell(quantity.ABSENT, "", "absent")
        value = median(known)
        delta = value - (self.references[kind_of(group[0])][place] or 0.0)
        level = self.level(delta)
        phases = self.data.columns[place].phases
        stays = sum(self._path.get((side, rank, phase), 0.0) for rank in group for phase in phases)
        return Cell(
            text=self.amount(value),
            delta="" if level == "same" else self.signed(delta),
            level=level,
            path=0 < ON_PATH * self._whole[side] <= stays,
            spread=f"{self.amount(min(known))} … {self.amount(max(known))}" if len(known) > 1 else "",
        )

    def _value(self, rank: str, side: SideName, place: int) -> float | None:
        values = self.data.ranks[rank][side]
        return None if values is None else values[place]

    def strips(self) -> tuple[Strip, ...]:
        """All ranks in their order: neighbours of one level are one rectangle. Only columns in which some differ."""
        made = []
        for place, column in enumerate(self.data.columns):
            if all(level in ("same", "absent") for side in SIDES for level, *_ in self._runs(place, side)):
                continue
            for side in SIDES:
                paths: dict[str, list[str]] = {}
                for level, start, length in self._runs(place, side):
                    paths.setdefault(level, []).append(f"M{start} 0h{length}v1h-{length}z")
                drawn = sorted(paths.items(), key=lambda item: item[0][-1:])  # what differs most is on top
                made.append(Strip(column.title, side, tuple((level, "".join(d)) for level, d in drawn)))
        return tuple(made)

    def _runs(self, place: int, side: SideName) -> Iterable[tuple[str, int, int]]:
        run: tuple[str, int, int] | None = None
        for at, rank in enumerate(self.data.ranks):
            value, reference = self._value(rank, side, place), self.references[kind_of(rank)][place]
            level = "absent" if value is None else self.level(value - (reference or 0.0))
            if run and run[0] == level:
                run = (level, run[1], run[2] + 1)
                continue
            if run:
                yield run
            run = (level, at, 1)
        if run:
            yield run


def _finding(
    data: RankValues,
    groups: Sequence[Sequence[str]],
    tolerance: float,
    painter: _Painter,
    late: Mapping[str, Sequence[SideName]],
) -> str:
    """Which ranks are alike, the rank that differs most from the others of the new side, and those that are late."""
    texts = []
    if len(groups) < len(data.ranks):
        share = f"{tolerance * 100:g} %"
        others = [rank for rank in data.ranks if any(rank in group for group in groups[1:])]
        if len(others) > MOST_NAMED:
            sizes = ", ".join(str(len(group)) for group in groups)
            texts.append(
                tr("Groups of ranks that are alike, to {share} of the step: {sizes}.", share=share, sizes=sizes)
            )
        else:
            texts.append(
                trn(
                    "{n} rank is alike, to {share} of the step.",
                    "{n} ranks are alike, to {share} of the step.",
                    len(groups[0]),
                    share=share,
                )
            )
        if 0 < len(others) <= MOST_NAMED:
            texts.append(tr("Different: {names}.", names=safe_text(ranges(others), 200)))
    most = _oddest(data)
    if most and most[3] >= LEVELS[0] * painter.step:
        rank, column, value, delta = most
        texts.append(
            tr(
                "Farthest above the median rank of the new side: {rank} in {column}, {value} {unit} ({delta}).",
                rank=safe_text(rank, 60), column=column, value=painter.amount(value), unit=painter.unit,
                delta=painter.signed(delta),
            )
        )  # fmt: skip
    who = [f"{safe_text(rank, 60)} ({_on(sides)})" for rank, sides in late.items()]
    if who and len(late) <= MOST_NAMED:
        texts.append(tr("Starts collectives last: {who}.", who=listed(who)))
    return sentences(texts)


def _on(sides: Sequence[SideName]) -> str:
    return tr("on both sides") if len(sides) > 1 else side_label(sides[0])


def _oddest(data: RankValues) -> tuple[str, str, float, float] | None:
    """The rank and column farthest above the median rank of the new side. Waiting does not count."""
    found: list[tuple[str, str, float, float]] = []
    medians = data.medians("new")
    for kind, ranks in data.of_kind("new").items():
        for place, column in enumerate(data.columns):
            for rank in ranks if column.own else ():
                value, middle = (data.ranks[rank]["new"] or ())[place], medians[kind][place]
                if value is not None and middle is not None:
                    found.append((rank, column.title, value, value - middle))
    return max(found, key=lambda item: item[3], default=None)


def _note(data: RankValues, tolerance: float, is_folded: bool, has_path: bool, *, of_new: bool) -> str:
    texts = [
        tr("Time per step and rank, from the account; a row sums to the step of its rank.")
        if not data.has_phases
        else tr(
            "Time per step that a rank spends in each phase, without waiting for other ranks; a row sums to the step."
        ),
        tr("Coloured where a value differs from the median rank of the new side by at least 1 % of the step.")
        if of_new
        else tr("Coloured where a value differs from the median rank of the baseline by at least 1 % of the step."),
    ]
    if is_folded:
        texts.append(
            tr(
                "Ranks are folded if no two of them differ by more than {share} of the step in any column;"
                " their cells are medians.",
                share=f"{tolerance * 100:g} %",
            )
        )
    if has_path:
        texts.append(tr("◆: the critical path stays here for 5 % of its time or more."))
    return sentences(texts)


def _scale(unit: str, *, of_new: bool) -> str:
    if of_new:
        return tr(
            "Times in {unit}. Colour: difference from the median rank of the new side, as a share of the step:",
            unit=unit,
        )
    return tr(
        "Times in {unit}. Colour: difference from the median rank of the baseline, as a share of the step:", unit=unit
    )


def _legend(step: float) -> tuple[tuple[str, str], ...]:
    """Levels from short to long, with the share of the step from which each holds."""
    share = [f"{limit * 100:g} %" for limit in LEVELS]
    less = [(f"less{degree}", f"-{share[degree - 1]}") for degree in range(len(LEVELS), 0, -1)]
    return (*less, ("same", "0"), *((f"more{degree}", f"+{share[degree - 1]}") for degree in range(1, len(LEVELS) + 1)))


def _table(data: RankValues, lines: Sequence[Line], painter: _Painter) -> TextTable:
    heads = [
        tr("{what} ({unit})", what=listed((column.title, side_label(side))), unit=painter.unit)
        for column in data.columns
        for side in SIDES
    ]
    paths = [
        tr("{what} ({unit})", what=tr("critical path, {side}", side=side_label(side)), unit=painter.unit)
        for side in SIDES
    ]
    rows = tuple(
        (
            " · ".join(filter(None, (line.name, line.members, line.mark))),
            *(f"{cell.text} ({cell.spread})" if cell.spread else cell.text for cell in line.cells),
            *line.path,
        )
        for line in lines
    )
    columns = (tr("rank"), *heads, *(paths if painter.has_path else ()))
    return TextTable(columns, (False, *(True for _ in columns[1:])), rows)
