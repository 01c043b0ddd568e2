"""Reads a report as a person does, from its terminal output, Markdown and page: finds lines that contradict others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from html.parser import HTMLParser
from math import inf
from typing import NamedTuple

NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?"
_UNITS = {"s": 1e3, "ms": 1.0, "µs": 1e-3}
_GREW, _SHRANK = ("grew", "more of the step", "longer"), ("fell", "shrank", "less of the step")


@dataclass(frozen=True)
class Row:
    """A row of a table: the section, the name, the texts of its cells without units, and its tone."""

    section: str
    name: str
    cells: tuple[str, ...]
    tone: str = ""


@dataclass
class _Bars:
    """A picture with bars: its label, and the bars with their lengths and titles."""

    label: str
    parts: list[tuple[float, str]] = field(default_factory=list)


class Page(HTMLParser):
    """A page's rows, bars and other texts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[Row] = []
        self.bars: list[_Bars] = []
        self.texts: list[str] = []
        self._section, self._tone, self._width = "", "", 0.0
        self._cells: list[str] | None = None
        self._silent = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag in ("script", "style"):
            self._silent = True
        elif tag == "section":
            self._section = (found.get("id") or "").removeprefix("s-")
        elif tag == "tr":
            words = (found.get("class") or "").split()
            self._cells, self._tone = [], next((word for word in words if word in ("worse", "better", "noise")), "")
        elif tag in ("td", "th") and self._cells is not None:
            self._cells.append("")
        elif tag == "svg" and found.get("aria-label"):
            self.bars.append(_Bars(found["aria-label"] or ""))
        elif tag == "rect":
            self._width = float((found.get("width") or "0").rstrip("%"))
        elif tag in ("p", "li", "dt", "div", "h2", "h3"):
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._silent = False
        elif tag == "tr" and self._cells:
            name = re.sub(r"( cause \d+)+$", "", self._cells[0].rstrip())  # the marks of causes that the row belongs to
            self.rows.append(Row(self._section, name, tuple(map(bare, self._cells[1:])), self._tone))
            self._cells = None

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        if self.bars and self.get_starttag_text() == "<title>" and data.strip():
            self.bars[-1].parts.append((self._width, data))
        elif self._cells:
            self._cells[-1] += data
        elif self.texts:
            self.texts[-1] += f" {data.strip()}"


def bare(cell: str) -> str:
    """A value without its unit."""
    found = re.fullmatch(rf"({NUMBER})\s*\S*", cell.strip())
    return found[1] if found and "→" not in cell else cell.strip()


def value(text: str) -> float | None:
    found = re.fullmatch(NUMBER, text)
    return float(text.replace(",", "")) if found else None


def terminal_rows(text: str) -> Iterator[Row]:
    """The rows of the tables below the summary."""
    title = ""
    for block in text.split("\n\n")[1:]:
        lines = block.splitlines()
        title = re.split(r"[,;(]", lines[0])[0].strip()
        for line in lines[2:]:
            cells = re.split(r"\s{2,}", line.strip())
            if len(cells) > 3:
                yield Row(title, cells[0], tuple(map(bare, cells[1:])))


def markdown_rows(text: str) -> Iterator[Row]:
    title = ""
    for line in text.splitlines():
        if line.startswith("<details><summary>"):
            title = line.removeprefix("<details><summary>").removesuffix("</summary>")
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and title and len(cells) > 4:
            tone = cells[5].rpartition(" ")[2] if len(cells) > 5 else ""
            yield Row(title, cells[0].strip("`"), tuple(map(bare, cells[1:5])), tone)


def row_contradictions(rows: Sequence[Row]) -> Iterator[str]:
    """Rows whose baseline, new value, difference, percentage and tone do not agree."""
    for row in rows:
        numbers = [value(cell) for cell in row.cells[:4]]
        if len(numbers) < 4:
            continue
        baseline, new, delta, change = numbers
        if baseline is None or new is None or delta is None:
            continue
        if abs(new - baseline - delta) > 0.011 * max(abs(delta), 1e-3) + 2 * 10 ** -_decimals(row.cells[:3]):
            yield f"{row}: the difference is not that of the values"
        if change is not None and baseline > 0 and change * delta < 0:
            yield f"{row}: the signs differ"
        lower = "lower" in row.cells or "higher" not in row.cells
        if row.tone in ("worse", "better") and delta and (row.tone == "worse") != ((delta > 0) == lower):
            yield f"{row}: the verdict has the other sign"


def _decimals(cells: Sequence[str]) -> int:
    return min(len(cell.partition(".")[2]) if "e" not in cell else 9 for cell in cells)


def differing_rows(first: Sequence[Row], second: Sequence[Row], titles: dict[str, str]) -> Iterator[str]:
    """Rows that a second output shows with other values. ``titles``: its sections, by title."""
    for row in first:
        section = titles.get(row.section, row.section)
        named = [other for other in second if other.section == section and _is_named(row.name, other.name)]
        agreeing = [other for other in named if other.cells[:4] == row.cells[:4]]
        if not named:
            yield f"{row}: is not in the other output"
        elif not agreeing:
            yield f"{row}: {[other.cells[:4] for other in named]} in the other output"
        elif row.tone and all(other.tone and other.tone != row.tone for other in agreeing):
            yield f"{row}: {agreeing[0].tone} in the other output"


def _is_named(shown: str, name: str) -> bool:
    """Whether a text is this name, or the name cut at its end or in its middle."""
    beginning, cut, end = shown.partition("…")
    return shown == name or bool(cut and name.startswith(beginning) and name.endswith(end))


def share_contradictions(text: str) -> Iterator[str]:
    """Shares of causes that, with what is left, are not the whole change."""
    one_line = " ".join(text.split())
    shares = re.findall(r"(-?\d+) % of the change:|And (-?\d+) %:|ther causes (-?\d+) %|nexplained (-?\d+) %", one_line)
    total = sum(int(number) for found in shares for number in found if number)
    if shares and abs(total - 100) > len(shares):
        yield f"the shares sum to {total} %: {shares}"


def bar_contradictions(page: Page) -> Iterator[str]:
    """Bars of a picture that are not as long as their numbers, or do not sum to those of its label."""
    for bars in page.bars:
        parts = [(side, width, time) for width, title in bars.parts for side, time in [_timed(title)] if side]
        longest, measured = max(((time, width) for _, width, time in parts), default=(_Time(0.0, 0.0), 0.0))
        # What the numbers may have been before they were rounded.
        scales = [
            measured / size if size > 0 else inf for size in (longest.ms + longest.half, longest.ms - longest.half)
        ]
        for side, width, time in parts:
            least, most = (
                (abs(time.ms) + half) * scale for half, scale in zip((-time.half, time.half), scales, strict=True)
            )
            if not least - 0.5 <= width <= most + 0.5:
                yield f"{bars.label}: {width} % wide for {time.ms} ms of the {side}"
        found = re.search(rf"({NUMBER}) → ({NUMBER}) (s|ms|µs)$", bars.label)
        for place, side in enumerate(("baseline", "new") if found and parts else ()):
            total = _time(found[place + 1], found[3])  # type: ignore[index]
            times = [time for of, _, time in parts if of == side]
            if abs(sum(time.ms for time in times) - total.ms) > total.half + sum(time.half for time in times) + 1e-9:
                yield f"{bars.label}: the bars of the {side} sum to {sum(time.ms for time in times):g} ms"


class _Time(NamedTuple):
    """A time as it is written, and half of its last digit."""

    ms: float
    half: float


def _time(text: str, unit: str) -> _Time:
    number = Decimal(text.replace(",", ""))
    return _Time(float(number) * _UNITS[unit], 0.5 * 10.0 ** int(number.as_tuple().exponent) * _UNITS[unit])


def _timed(title: str) -> tuple[str, _Time]:
    """The side and the time of a bar; no side if it has none."""
    found = re.match(rf"(\w+) · .* ({NUMBER}) (s|ms|µs)$", title)
    return (found[1], _time(found[2], found[3])) if found else ("", _Time(0.0, 0.0))


def sentence_contradictions(sentences: Sequence[tuple[str, float]], phases: dict[str, float]) -> Iterator[str]:
    """Sentences of causes whose verb, or phase, moved the other way. ``sentences``: with their change in ms."""
    for text, delta in sentences:
        if delta and any(word in text.partition(",")[0] for word in (_SHRANK if delta > 0 else _GREW)):
            yield f"{text}: its change is {delta:+g} ms"
        found = re.search(r"[Pp]hase (\S+) ", text)
        moved = phases.get(found[1]) if found else None
        if moved is not None and moved * delta < 0:
            yield f"{text}: the phase moved by {moved:+g} ms"


def profile_contradictions(page: Page) -> Iterator[str]:
    """Parts of a phase that are better or worse where training's timer of the phase says otherwise.

    The page does not say below what a change is noise: a sum of parts that is smaller than all changes that are judged
    may be noise, and contradicts nothing.
    """
    rows = {row.name: row for row in page.rows if row.section == "overall" and row.name.startswith("phase.")}
    judged = [value(row.cells[2]) or 0.0 for row in rows.values() if row.tone in ("worse", "better")]
    smallest = min(map(abs, judged), default=0.0)
    for name, wall in rows.items():
        if not name.endswith(".wall"):
            continue
        parts = [row for other, row in rows.items() if other.startswith(name.removesuffix("wall")) and row is not wall]
        deltas, baselines = ([value(row.cells[place]) or 0.0 for row in parts] for place in (2, 0))
        moved = (value(wall.cells[2]) or 0.0) if wall.tone in ("worse", "better") else 0.0
        if abs(sum(deltas)) <= 0.01 * sum(baselines) or sum(deltas) * moved > 0:
            continue
        if abs(sum(deltas)) < smallest:
            continue
        for row in parts:
            if row.tone in ("worse", "better"):
                yield f"{row}: its phase moved by {wall.cells[2]}, {wall.tone}"
