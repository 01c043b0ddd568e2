"""Writes lines: coloured by rich if the output is a terminal, plain text if it is a file or a pipe.

rich is imported only if something is coloured. It respects NO_COLOR, and no name is read as rich markup.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TextIO

from rlcompare.text import for_encoding

STYLES = {
    "worse": "red",
    "better": "green",
    "caution": "yellow",
    "noise": "dim",
    "label": "bold",
    "title": "bold underline",
}


class Line(NamedTuple):
    """A line of text. ``spans`` are (start, end, style) in characters, with the styles of ``STYLES``."""

    text: str
    spans: tuple[tuple[int, int, str], ...] = ()


def print_lines(lines: Iterable[Line], stream: TextIO) -> None:
    """Writes lines, with characters that the stream's encoding does not have replaced."""
    if not stream.isatty():
        stream.writelines(for_encoding(line.text, stream.encoding) + "\n" for line in lines)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    for line in lines:
        shown = for_encoding(line.text, stream.encoding)
        text = Text(shown)
        # If replacements are longer than the original characters, the spans no longer fit: no colours then.
        for start, end, style in line.spans if len(shown) == len(line.text) else ():
            text.stylize(STYLES.get(style, ""), start, end)
        console.print(text, soft_wrap=True)
