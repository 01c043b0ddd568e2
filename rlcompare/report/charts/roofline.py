"""Kernels by efficiency: operations per byte against operations per second, both sides (a roofline without its slope).

Only kernels whose operations and bytes are known exactly. The roof is the peak of the chip, where that is known; the
bandwidth of its memory is not recorded, so no slope is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rlcompare.language import listed, sentences, tr, trn, with_label
from rlcompare.model.diff import Diff, Row
from rlcompare.model.words import SIDES, SideName
from rlcompare.report import quantity
from rlcompare.report.charts.chart import Chart, TextTable
from rlcompare.report.charts.scatter import (
    Axis,
    Dot,
    Level,
    Scatter,
    arrow,
    is_drawn,
    joined,
    labelled,
    log_axis,
    place,
)
from rlcompare.report.sides import side_label
from rlcompare.text import safe_text

MOST_KERNELS = 20
LABELLED = 5
"""So many kernels that take the most time have their number beside the dot, and a line below the picture."""

MOVED = 0.05
FAR_BELOW = 0.5
"""Part of the peak below which the largest kernel is worth a sentence."""

SAME_PEAK = 0.01
"""Peaks that differ by less are one line: clocks vary a little."""


class _Kernel(NamedTuple):
    """A row of the section ``efficiency``; per side TFLOP/s, operations per byte, and part of the peak."""

    name: str
    ms: float
    times: dict[SideName, float]
    tflops: dict[SideName, float]
    intensity: dict[SideName, float]
    peak_share: dict[SideName, float]


def roofline_chart(diff: Diff) -> Chart | None:
    """The picture; None if no kernel's operations and bytes are both known."""
    section = diff.sections.get("efficiency")
    rows = section.rows if section else ()
    kernels = sorted((kernel for kernel in map(_kernel, rows) if kernel), key=lambda kernel: -kernel.ms)
    if not kernels:
        return None
    shown = kernels[:MOST_KERNELS]
    return Chart(
        name="roofline",
        title=tr("Kernels by efficiency"),
        finding=_finding(shown),
        note=_note(rows, len(kernels), len(shown)),
        content=_scatter(shown),
        table=_table(shown),
    )


def _kernel(row: Row) -> _Kernel | None:
    times: dict[SideName, float] = {}
    tflops: dict[SideName, float] = {}
    intensity: dict[SideName, float] = {}
    share: dict[SideName, float] = {}
    for side in SIDES:
        rate, moved, ms = (row.get(key) for key in (f"{side}_tflops", f"{side}_gb_per_s", side))
        if not (quantity.is_number(rate) and quantity.is_number(moved) and quantity.is_number(ms)):
            continue
        if row.get("at_most") is not True and is_drawn(rate, moved) and is_drawn(rate * 1000 / moved):
            times[side], tflops[side], intensity[side] = ms, rate, rate * 1000 / moved
            if quantity.is_number(part := row.get(f"{side}_peak_share")) and part > 0 and is_drawn(rate / part):
                share[side] = part
    if not tflops:
        return None
    name = " ".join(safe_text(row.get(key), 60) for key in ("name", "input_shapes") if row.get(key))
    return _Kernel(name, sum(times.values()), times, tflops, intensity, share)


def _scatter(kernels: Sequence[_Kernel]) -> Scatter:
    peaks = _peaks(kernels)
    rates = [rate for kernel in kernels for rate in kernel.tflops.values()]
    x = log_axis(
        tr("operations per byte"), [value for kernel in kernels for value in kernel.intensity.values()], _short
    )
    y = log_axis("TFLOP/s", [*rates, *(peak for peak, _ in peaks)], _short, downwards=True)
    pairs = [tuple(_dot(kernel, side, x, y) for side in SIDES) for kernel in kernels]
    latest = [new or old for old, new in pairs]
    return Scatter(
        x=x,
        y=y,
        dots=tuple(dot for pair in pairs for dot in pair if dot),
        moves=joined([(old, new) for old, new in pairs]),
        levels=tuple(
            Level(place(y, peak, downwards=True), text, above=at == len(peaks))
            for at, (peak, text) in enumerate(peaks, 1)
        ),
        keys=(),
        named=tuple(with_label(kernel.name, _line(kernel)) for kernel in kernels[:LABELLED]),
        labels=labelled([dot for dot in latest[:LABELLED] if dot]),
    )


def _dot(kernel: _Kernel, side: SideName, x: Axis, y: Axis) -> Dot | None:
    if side not in kernel.tflops:
        return None
    text = with_label(listed((kernel.name, side_label(side))), _texts(kernel, side))
    rate = place(y, kernel.tflops[side], downwards=True)
    return Dot(place(x, kernel.intensity[side]), rate, side, "circle", text)


def _texts(kernel: _Kernel, side: SideName) -> str:
    texts = [
        f"{quantity.brief(kernel.tflops[side])} TFLOP/s",
        tr("{n} operations per byte", n=quantity.brief(kernel.intensity[side])),
        quantity.quantity(kernel.times[side], "ms"),
    ]
    if side in kernel.peak_share:
        texts.insert(1, tr("{share} of the peak", share=quantity.share(kernel.peak_share[side])))
    return listed(texts)


def _line(kernel: _Kernel) -> str:
    """Both sides in a line."""
    shares = [quantity.share(kernel.peak_share[side]) for side in SIDES if side in kernel.peak_share]
    texts = [
        arrow([quantity.brief(rate) for rate in kernel.tflops.values()]) + " TFLOP/s",
        quantity.pair(kernel.times["baseline"], kernel.times["new"], "ms")
        if len(set(kernel.times.values())) == 2
        else quantity.quantity(next(iter(kernel.times.values())), "ms"),
    ]
    if len(shares) == len(kernel.tflops):  # of one side alone it would not say of which
        texts.insert(1, tr("{share} of the peak", share=arrow(shares)))
    if len(kernel.times) == 1:
        texts.append(tr("only on the new side") if "new" in kernel.times else tr("only on the baseline"))
    return listed(texts)


def _peaks(kernels: Sequence[_Kernel]) -> list[tuple[float, str]]:
    """The peaks of the chips, as the shares of the kernels tell them: one for each data type and clock."""
    found: list[tuple[float, set[SideName]]] = []
    for kernel in kernels:
        for side, part in kernel.peak_share.items():
            peak = kernel.tflops[side] / part
            near = next((entry for entry in found if abs(entry[0] / peak - 1) < SAME_PEAK), None)
            if near:
                near[1].add(side)
            else:
                found.append((peak, {side}))
    texts = []
    for peak, sides in sorted(found, key=lambda entry: entry[0]):
        text = tr("peak {n} TFLOP/s", n=quantity.brief(peak))
        texts.append((peak, text if len(sides) > 1 or len(found) == 1 else listed((text, side_label(min(sides))))))
    return texts


def _finding(kernels: Sequence[_Kernel]) -> str:
    """The kernel whose time changed most with its rate; else the largest one, if it is far below the peak."""
    moved = [
        kernel
        for kernel in kernels
        if len(kernel.tflops) == 2 and abs(kernel.tflops["new"] / kernel.tflops["baseline"] - 1) >= MOVED
    ]
    if moved:
        most = max(moved, key=lambda kernel: abs(kernel.times["new"] - kernel.times["baseline"]))
        return tr("{kernel}: {line}.", kernel=most.name, line=_line(most))
    both = any(len(kernel.tflops) == 2 for kernel in kernels)
    said = [tr("No kernel's TFLOP/s changed by {limit}.", limit=quantity.share(MOVED))] if both else []
    largest = kernels[0]
    if largest.peak_share and max(largest.peak_share.values()) < FAR_BELOW:
        line = _line(largest)
        said.append(tr("The kernel that takes the most time, {kernel}: {line}.", kernel=largest.name, line=line))
    return sentences(said)


def _note(rows: Sequence[Row], known: int, shown: int) -> str:
    texts = [
        tr("An arrow leads from the baseline to the new side. The numbered kernels take the most time."),
        tr("No slope: the bandwidth of the memory is not recorded."),
    ]
    if shown < known:
        texts.append(trn("Not drawn: {n} smaller kernel.", "Not drawn: {n} smaller kernels.", known - shown))
    limits = sum(row.get("at_most") is True for row in rows)
    if limits:
        texts.append(
            trn(
                "Left out: {n} kernel of which only an upper limit of the operations is known.",
                "Left out: {n} kernels of which only an upper limit of the operations is known.",
                limits,
            )
        )
    if len(rows) - limits > known:
        texts.append(
            trn(
                "Left out: {n} kernel without known operations or bytes.",
                "Left out: {n} kernels without known operations or bytes.",
                len(rows) - limits - known,
            )
        )
    return sentences(texts)


def _table(kernels: Sequence[_Kernel]) -> TextTable:
    heads = ("TFLOP/s", tr("of the peak"), tr("operations per byte"), tr("time"))
    columns = (tr("kernel"), *(listed((head, side_label(side))) for side in SIDES for head in heads))
    rows = []
    for kernel in kernels:
        cells = [kernel.name]
        for side in SIDES:
            if side not in kernel.tflops:
                cells += [quantity.ABSENT] * 4
                continue
            cells += [
                quantity.brief(kernel.tflops[side]),
                quantity.share(kernel.peak_share.get(side)),
                quantity.brief(kernel.intensity[side]),
                quantity.quantity(kernel.times[side], "ms"),
            ]
        rows.append(tuple(cells))
    return TextTable(columns, (False, *(True for _ in columns[1:])), tuple(rows))


def _short(value: float) -> str:
    return f"{value:,g}"
