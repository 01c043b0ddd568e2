"""Puts lines of metrics together that a terminal, a mail or an issue tracker broke into several.

Two ways are known. A terminal breaks after so many characters, in the middle of a word: each line but the last has that
width. A text editor breaks between words: each line ends or begins with the ``-`` between two metrics. Lines are joined
only if the result consists of metrics alone; a number that may be half of one is never taken.
"""

from __future__ import annotations

import mmap
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rlcompare.sources.metrics.printed_config import ANSI
from rlcompare.sources.metrics.values import LINE_BYTES

LEAST_WIDTH = 40
_SAMPLES = 50
_MOST_LINES = 1000
_LINE = re.compile(rb"[^\r\n]{0,%d}" % LINE_BYTES)
_END = re.compile(rb"\r?\n|\r")
_MORE = re.compile(r"(?:\A|\s)- [\w@.-]{1,200}/[^\s:][^:]{0,200}:")  # another metric
_OTHER = re.compile(r"(?<![\w./-])step:\d+ - |\A\s*(?:\([\w.: -]*pid=\d|\[?\d{4}-\d\d-\d\d[T ]\d|\w+ Progress:)")
_BROKEN_BEFORE = re.compile(r"- [\w@.-]+/[^:\s]*:\S")
_BAR = re.compile(r"(?:[A-Z][a-z]{1,30} ){1,5}Progress:.*\Z", re.DOTALL)
_BROKEN_BEHIND = re.compile(r"[\w@.-]+/[^:]*:\S")

_MOST_JOINED = 256 * 1024
"""Characters of a line put together. A step takes a few thousand."""

_MOST_TRIES = 30
"""Lines by which it may be shortened to consist of metrics alone: each try reads it once more."""

Parsed = tuple[list[tuple[str, str]], int]
Parse = Callable[[str], Parsed]


@dataclass(frozen=True)
class Joined:
    """A line of metrics put together.

    Attributes:
        text: the text behind ``step:N - ``.
        end: where its last line ends.
        lines: the number of lines that were appended.
        lost: the number of lines that continue it, but could not be appended.
    """

    text: str
    end: int
    lines: int = 0
    lost: int = 0


def width_of(text: mmap.mmap, ends: Iterator[tuple[int, int]], parse: Parse) -> int | None:
    """The width at which a terminal broke the lines of metrics; None if it did not, or the lines disagree.

    Args:
        ends: for some lines of metrics, where the whole line begins and where it ends.
        parse: the metrics in a text behind ``step:N - ``, and the number of parts that are none.
    """
    widths: Counter[int] = Counter()
    for _, (begin, end) in zip(range(_SAMPLES), ends, strict=False):
        first = _shown(text[begin:end])
        more = next(_following(text, end), None)
        if more is None or not _MORE.search(more[0]) or _OTHER.search(more[0]):
            continue
        if not LEAST_WIDTH <= len(first) >= len(more[0]):
            continue
        if not _between_words(first, more[0]):
            widths[len(first)] += 1
    return next(iter(widths)) if len(widths) == 1 else None


def joined(text: mmap.mmap, begin: int, behind: str, end: int, width: int | None, parse: Parse) -> Joined:
    """A line of metrics with the lines that continue it.

    Args:
        begin, end: where the whole line begins and ends in the log.
        behind: its text behind ``step:N - ``, without escape sequences.
        width: as ``width_of`` tells.
        parse: as for ``width_of``.
    """
    before, made = _shown(text[begin:end]), behind
    parts = [(Joined(behind, end), before)]
    for line, line_end in _following(text, end):
        inside = len(before) == width and re.search(r"[\w/]\Z", before) is not None  # global_ and step:5
        if len(made) > _MOST_JOINED or len(parts) > _MOST_LINES or _OTHER.search(f"_{line}" if inside else line):
            break
        if _between_words(before, line):
            made = f"{made.rstrip()} {line.lstrip()}"
        elif len(before) == width and len(line) <= width:
            made += line
        else:
            break
        before = line
        parts.append((Joined(made, line_end, len(parts)), line))
    tried = parts[: -_MOST_TRIES - 1 : -1]
    part, last = next((found for found in tried if found is not parts[0] and _is_whole(found[0].text, parse)), parts[0])
    if len(last) == width or last.rstrip().endswith(" -"):  # it goes on in a line that another process may have parted
        return replace(part, lost=max(1, len(parts) - 1 - part.lines))
    return part


def _is_whole(text: str, parse: Parse) -> bool:
    """Whether a text consists of metrics alone."""
    text = _BAR.sub("", text).strip()
    items, left = parse(text)
    return left == 0 and sum(len(f"{name}:{value} - ") for name, value in items) == len(f"{text} - ")


def _between_words(before: str, line: str) -> bool:
    """Whether a line was broken beside the ``-`` between two metrics."""
    if before.rstrip().endswith(" -"):
        return _BROKEN_BEHIND.match(line.lstrip()) is not None
    return _BROKEN_BEFORE.match(line.lstrip()) is not None and not line.startswith(" - ")


def _following(text: mmap.mmap, end: int) -> Iterator[tuple[str, int]]:
    """The lines behind a place where a line ends, without escape sequences, and where each ends."""
    while (newline := _END.match(text, end)) is not None:
        match = _LINE.match(text, newline.end())
        if match is None or not match.group() or len(match.group()) == LINE_BYTES:
            return
        end = match.end()
        yield _shown(match.group()), end


def _shown(line: bytes) -> str:
    return ANSI.sub("", line.decode("utf-8", "replace"))
