"""Makes text from a profile safe to show, and fits text into a width.

Names in a profile are untrusted: they may contain terminal escapes, line breaks or marks that change the reading
direction, or be a megabyte long. Every renderer passes them through ``safe_text``, and then escapes for its own format.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence

from rlcompare.language import tr

NAME_LIMIT = 200
"""Maximum length of a name in a report, in characters; ``diff.json`` holds the full name."""

ELLIPSIS = "…"

_OPENING, _CLOSING = "（“《", "，。；：）、”》！？"  # noqa: RUF001
_WIDE = "\u2e80-\u9fff\uff00-\uffef"
_UNIT = re.compile(
    f"[{_OPENING}]*(?:[^{_WIDE}{_OPENING}{_CLOSING}]+|(?![{_OPENING}{_CLOSING}])[{_WIDE}])[{_CLOSING}]*"
    f"|[{_OPENING}{_CLOSING}]+"
)
"""A Chinese character, or what stands between two, with the punctuation that belongs to it."""

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_ASCII = str.maketrans({"→": "->", "×": "x", "…": "...", "—": "-", "·": "|", "Δ": "delta"})
_BLOCKS = str.maketrans({"█": "#", "▓": "+", "░": "-", "▏": "|"})
"""What bars are made of; each replacement takes one column, too."""


def safe_text(text: object, limit: int = NAME_LIMIT) -> str:
    """One line of visible characters, at most ``limit`` of them.

    Control characters, bidirectional marks, lone surrogates and other invisible characters are written as in source
    code (``\\n``, ``\\x1b``, ``\\u202e``), which every font can show. Cut text ends with ``…``.
    """
    raw = "" if text is None else str(text)
    shown = raw[: limit + 1]
    if not (shown.isascii() and shown.isprintable()):
        shown = "".join(map(_visible, shown))
    return shown if len(shown) <= limit and len(raw) <= limit else shown[: limit - 1] + ELLIPSIS


def _visible(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii") if is_invisible(character) else character


def is_invisible(character: str) -> bool:
    """Whether a character controls the terminal or the reading direction, or cannot be seen."""
    return unicodedata.category(character) in _INVISIBLE


def width_of(text: str) -> int:
    """Columns that a text takes on a terminal: East Asian wide characters take two, combining characters none."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fit(text: str, width: int) -> str:
    """The text, cut to a width with ``…`` if it does not fit."""
    return text if width_of(text) <= width else _beginning(text, width - 1).rstrip() + ELLIPSIS


def fit_names(names: Sequence[str], width: int) -> list[str]:
    """Names cut to a width; those that would then look the same are cut in the middle: their ends may differ."""
    result = [fit(name, width) for name in names]
    for cut in (_fit_middle, _fit_apart):
        named: dict[str, set[str]] = {}
        for name, shown in zip(names, result, strict=True):
            named.setdefault(shown, set()).add(name)
        result = [
            shown if shown == name or len(named[shown]) == 1 else cut(name, named[shown], width)
            for name, shown in zip(names, result, strict=True)
        ]
    return result


def _fit_middle(text: str, _: Collection[str], width: int) -> str:
    end = _beginning(text[::-1], (width - 1) // 2)[::-1]
    return _beginning(text, width - 1 - width_of(end)) + ELLIPSIS + end


def _fit_apart(text: str, alike: Collection[str], width: int) -> str:
    """The beginning of a name, and what follows from where those that look like it begin to differ."""
    start = _beginning(text, width // 3)
    columns = enumerate(zip(*alike, strict=False))
    place = next((at for at, letters in columns if len(set(letters)) > 1), min(map(len, alike)))
    return fit(start + ELLIPSIS + text[max(place - width // 6, len(start)) :], width)


def _beginning(text: str, width: int) -> str:
    """The longest beginning of the text that takes at most ``width`` columns."""
    used = 0
    for place, character in enumerate(text):
        used += width_of(character)
        if used > width:
            return text[:place]
    return text


def pad(text: str, width: int, right: bool = False) -> str:
    """The text, padded with blanks to a width: on the right, or on the left if ``right`` (for numbers)."""
    blanks = " " * max(0, width - width_of(text))
    return blanks + text if right else text + blanks


_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|[mnuµ]?s|[KMGT]?i?B|MHz|GB/s)(?!\w))")
"""The blank between a number and its unit, at which no line is broken."""


def wrap(text: str, width: int) -> list[str]:
    """The whole text on lines of a width, broken at blanks, and beside Chinese characters. Only words that are longer
    than a line are split.
    """
    result: list[str] = []
    for is_apart, piece in _units(text, width):
        joined = f"{result[-1]} {piece}" if is_apart and result else f"{result[-1]}{piece}" if result else piece
        if result and width_of(joined) <= width:
            result[-1] = joined
        else:
            result.append(piece)
    return result


def _units(text: str, width: int) -> Iterator[tuple[bool, str]]:
    """What stays on one line, and whether a blank stands before it."""
    for word in _BEFORE_UNIT.sub("\0", text).split(" "):
        word = word.replace("\0", " ")
        units = [word] if word.isascii() else _UNIT.findall(word) or [word]
        for place, unit in enumerate(units):
            for part, piece in enumerate(pieces(unit, width)):
                yield not place and not part, piece


def flow(parts: Iterable[str], width: int, lines: int, separator: str = " · ") -> list[str]:
    """Parts joined by a separator, on at most ``lines`` lines of a width, broken between parts if possible.

    Parts that do not fit are counted: ``+3 more``. If the first part does not fit, it is cut (``…``).
    """
    todo = list(parts)
    most = lines * (width // max(1, width_of(separator)) + 1)  # as many as fit, however short they are
    for dropped in range(max(0, len(todo) - most), len(todo)):
        result = _flow(
            todo[: len(todo) - dropped] + ([tr("+{n} more", n=dropped)] if dropped else []), separator, width
        )
        if len(result) <= lines:
            return result
    if not todo:
        return []
    first = wrap(todo[0], width)
    others = separator + tr("+{n} more", n=len(todo) - 1) if len(todo) > 1 else ""
    rest, room = " ".join(first[lines - 1 :]), width - width_of(others)
    return [*first[: lines - 1], fit(rest, room) + others if room > 1 else fit(rest + others, width)]


def is_whole(parts: Iterable[str], width: int, lines: int, separator: str = " · ") -> bool:
    """Whether ``flow`` would show all parts in full."""
    return len(_flow(list(parts), separator, width)) <= lines


def pieces(text: str, width: int) -> list[str]:
    """The whole text on lines of a width, broken anywhere."""
    result = [""]
    for character in text:
        if width_of(result[-1]) + width_of(character) > width:
            result.append("")
        result[-1] += character
    return result


def _flow(parts: list[str], separator: str, width: int) -> list[str]:
    result: list[str] = []
    for part in parts:
        if result and width_of(result[-1]) + width_of(separator) + width_of(part) <= width:
            result[-1] += separator + part
        else:
            result += [part] if width_of(part) <= width else wrap(part, width)
    return result


def for_encoding(text: str, encoding: str | None) -> str:
    """The text in characters of an output's encoding: ASCII for our own marks, ``\\uXXXX`` for the rest.

    Without an encoding (a text buffer) the text is not changed. Replacements are longer, so lines may become longer.
    """
    if encoding is None:
        return text
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_ASCII | _BLOCKS).encode(encoding, "backslashreplace").decode(encoding)
    except LookupError:
        return for_encoding(text, "ascii")
    return text
