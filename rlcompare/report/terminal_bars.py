"""The parts of the step on a terminal: their numbers, and bars of blocks where there is room."""

from __future__ import annotations

from collections.abc import Iterator

from rlcompare.language import tr
from rlcompare.report.output import Line
from rlcompare.report.part_lines import PartLine, PartLines
from rlcompare.text import fit, pad, width_of

BARS_FROM = 60
"""Columns of a terminal from which there are bars."""

_NAME = (12, 26)
_BAR = (10, 30)
_BOTH, _MORE, _LESS, _SHORT = "█▓░▏"


def part_block(parts: PartLines, label: int, width: int) -> Iterator[Line]:
    """Headings, and a line for each part.

    Args:
        label: columns of the label in front.
    """
    room = width - label
    for keys in (("baseline", "new", "delta", "change"), ("delta", "change")):
        columns = [_column(parts, key) for key in keys]
        numbers = sum(2 + max(map(width_of, column)) for column in columns)
        widest = max(width_of(parts.heading), *(width_of(line.name) for line in parts.lines))
        name = min(max(widest, _NAME[0]), _NAME[1], max(room - numbers - 2 - _BAR[0], _NAME[0]))
        cells = min(room - numbers - name - 2, _BAR[1])
        if cells >= _BAR[0]:
            break
    legend = f"{_BOTH} {tr('both')}  {_MORE} {tr('more')}  {_LESS} {tr('less')}"
    rows = [parts.heading, *(line.name for line in parts.lines)]
    bars = [legend if width_of(legend) <= cells else "", *(_bar(line, cells) for line in parts.lines)]
    for number, (row, bar) in enumerate(zip(rows, bars, strict=True)):
        text = pad(parts.label if number == 0 else "", label) + pad(fit(row, name), name)
        starts = [len(text)]
        for column in columns:
            text += "  " + pad(column[number], max(map(width_of, column)), right=True)
            starts.append(len(text))
        text += f"  {bar}" if bar else ""
        tone = parts.lines[number - 1].tone if number else "noise"
        spans = [(0, label, "label")] if number == 0 else []
        # Names and values are plain; the change is coloured, and the part of the bar that came or went.
        start = starts[-3] if number and tone != "noise" else label
        yield Line(text, (*spans, (start, len(text), tone)) if tone else tuple(spans))


def _column(parts: PartLines, key: str) -> list[str]:
    headings = {"baseline": tr("baseline"), "new": tr("new"), "delta": "Δ", "change": tr("change")}
    return [headings[key], *(str(getattr(line, key)) for line in parts.lines)]


def _bar(line: PartLine, cells: int) -> str:
    if cells < _BAR[0]:
        return ""
    longer, common = round(line.longer * cells), round(line.common * cells)
    if not longer:
        return _SHORT if line.longer > 0 else ""
    return _BOTH * common + (_MORE if line.grew else _LESS) * (longer - common)
