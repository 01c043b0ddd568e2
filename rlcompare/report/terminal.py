"""The summary on a terminal: the answer and its cause, then the rest, on about one screen.

``summary_lines``, ``warning_lines`` and ``table_lines`` return plain text of a given width. ``print_summary`` writes
all of it, coloured if the output is a terminal. Designed for 100 columns; works from 60 columns on.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from typing import TextIO

from rlcompare.language import sentences, tr
from rlcompare.report.output import Line, print_lines
from rlcompare.report.summary import SummaryItem
from rlcompare.report.terminal_bars import BARS_FROM, part_block
from rlcompare.report.terminal_tables import TERMINAL_ROWS, tables
from rlcompare.report.view import ReportView
from rlcompare.text import flow, is_whole, pad, pieces, wrap

__all__ = [
    "SCREEN",
    "SUMMARY_LINES",
    "TERMINAL_ROWS",
    "end_lines",
    "print_summary",
    "summary_lines",
    "table_lines",
    "warning_lines",
]

PIPED_WIDTH = 100
SUMMARY_LINES = 24
"""Maximum number of lines of the summary, from the answer to the sides."""

SCREEN = 42
"""Lines of the whole output; tables that have no room are left to the report."""

_FEWEST = 8
"""Lines that tables always have."""

WARNINGS = 8
"""Maximum number of symptoms, and of data warnings, shown on a terminal. The report lists all of them."""

_LABEL = 12


def summary_lines(view: ReportView, width: int = PIPED_WIDTH) -> list[str]:
    """The summary as plain text: at most ``SUMMARY_LINES`` lines of the given width."""
    return [line.text for line in _summary(view, width)]


def warning_lines(view: ReportView, width: int = PIPED_WIDTH) -> list[str]:
    """The signs of unstable training and the data warnings in full, if the summary has no room for them."""
    return [line.text for line in _warnings(view, width)]


def table_lines(view: ReportView, width: int = PIPED_WIDTH) -> list[str]:
    """The short tables below the summary as plain text: measured times and memory, then the rows that changed most."""
    return [line.text for line in tables(view, width, SCREEN)]


def end_lines(view: ReportView) -> list[str]:
    """The last lines: the next command to type. A shortened one cannot be typed: it may exceed the width."""
    return [line.text for line in _end(view)]


def print_summary(view: ReportView, stream: TextIO, width: int | None = None) -> None:
    """Writes summary, warnings and tables.

    Args:
        width: columns; by default those of the terminal, or 100 if the output is not a terminal.
    """
    if width is None:
        width = shutil.get_terminal_size((PIPED_WIDTH, 24)).columns if stream.isatty() else PIPED_WIDTH
    above = [*_summary(view, width), *_warnings(view, width)]
    end = [*_end(view)]
    room = max(SCREEN - len(above) - len(end), _FEWEST)
    print_lines([*above, *tables(view, width, room), *end], stream)


def _summary(view: ReportView, width: int) -> Iterator[Line]:
    answer = wrap(f"{view.answer.text}{view.answer.rest}", width - _LABEL)
    yield from _labelled(tr("answer"), answer, view.answer.tone)
    block = list(part_block(view.parts, _LABEL, width)) if view.parts and width >= BARS_FROM else []
    left_out = ("next", "phases") if block else ("next",)
    items = tuple(item for item in view.summary if item.key not in left_out)
    lines = SUMMARY_LINES - len(answer) - len(block)
    laid = _layout(items, width - _LABEL, lines)
    for spare in [item for item in reversed(items) if item.spare]:
        if sum(map(len, laid)) > lines:
            items = tuple(item for item in items if item is not spare)
            laid = _layout(items, width - _LABEL, lines)
    for item, texts in zip(items, laid, strict=True):
        yield from _labelled(item.label, texts, item.tone)
        if item.key == "headline":
            yield from block


def _labelled(label: str, texts: Sequence[str], tone: str) -> Iterator[Line]:
    for number, text in enumerate(texts):
        line = pad(label if number == 0 else "", _LABEL) + text
        yield Line(line, ((0, _LABEL, "label"), *(((_LABEL, len(line), tone),) if tone else ())))


def _end(view: ReportView) -> Iterator[Line]:
    yield Line("")
    yield from _labelled(tr("next"), (view.next_command,), "")


def _layout(items: tuple[SummaryItem, ...], width: int, lines: int) -> list[list[str]]:
    """The lines of each entry. Space goes to entries that are never cut, then to those with several lines, then to the
    first one that was cut.
    """
    laid = [_item_lines(item, width, 1 if item.lines else lines + 1 - len(items)) for item in items]
    for further in (0, 1):
        for index, item in enumerate(items):
            spare = lines - sum(map(len, laid))
            if spare > 0 and item.lines is not None and not (further and item.shorter):
                laid[index] = _item_lines(item, width, min(item.lines + further, len(laid[index]) + spare))
    return laid


def _item_lines(item: SummaryItem, width: int, lines: int) -> list[str]:
    if item.lines is None:
        for parts in (item.parts, *item.shorter):
            lines_of_words = wrap(sentences(parts), width)
            if len(lines_of_words) <= lines:
                return lines_of_words
        # Long names leave gaps at line ends. If there is no space for gaps, lines are broken anywhere.
        return pieces(sentences(parts), width)  # the shortest
    whole = (parts for parts in (item.parts, *item.shorter) if is_whole(parts, width, lines))
    return flow(next(whole, item.shorter[-1] if item.shorter else item.parts), width, lines)


def _warnings(view: ReportView, width: int) -> Iterator[Line]:
    stability = next((item for item in view.summary if item.key == "stability"), None)
    if stability and not is_whole(stability.parts, width - _LABEL, 1):  # its entry may get no more
        yield from _list(tr("Stability"), view.symptoms, stability.tone, width)
    quality = next(item for item in view.summary if item.key == "quality")
    warnings = [finding.message for finding in view.quality if finding.tone]
    if warnings and not is_whole(quality.parts, width - _LABEL, 1):
        yield from _list(tr("Warnings about the data"), warnings, "caution", width)


def _list(title: str, texts: Sequence[str], tone: str, width: int) -> Iterator[Line]:
    yield Line("")
    yield Line(title, ((0, len(title), "label"),))
    for message in texts[:WARNINGS]:
        first, *rest = wrap(message, width - 2)
        yield Line(first, ((0, len(first), tone),))
        yield from (Line(f"  {text}", ((0, len(text) + 2, tone),)) for text in rest)
    if len(texts) > WARNINGS:
        yield Line(tr("+{n} more in report.html", n=len(texts) - WARNINGS))
