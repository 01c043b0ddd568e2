"""Turns any Chrome trace into a file with a plain, complete JSON list of events.

DuckDB can stream that form, in a tenth of the memory of a wrapped one. An intact plain list is used as it is. A
wrapped list (``{"traceEvents": [...]}``) is copied without its wrapper, a truncated one up to its last complete event.
Files are read in blocks, since they may have gigabytes. Copies go to the scratch folder, never next to the input.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from rlcompare.db import interruption
from rlcompare.errors import InputError
from rlcompare.sources.blocks import CUT, Blocks, check_room
from rlcompare.sources.text_repair import encoding_of

_BLOCK = 8 << 20
_TAIL = 1 << 20
LONGEST_EVENT = 64 << 20
"""An event of more bytes (characters, where it is parsed) counts as damaged."""
_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_NEXT_EVENT = re.compile(rb"\}\s*,\s*(?=\{)")
_SPACE = r"[ \t\r\n]*"  # that of JSON
_COMMA_AND_KEY = re.compile(rf'{_SPACE},{_SPACE}"(?:[^"\\]|\\.)*"{_SPACE}:{_SPACE}', re.DOTALL)
_LAST_BRACE = re.compile(rf"{_SPACE}\}}{_SPACE}\Z")
_DECODER = json.JSONDecoder(strict=False)
_MOST_READ = 16
"""How often the text behind a list may be read to find the list's end. An intact trace's is read twice at most."""


@dataclass(frozen=True)
class EventList:
    """A file with a bare list of events.

    Attributes:
        path: the trace itself, or a copy.
        damage: the damage of the trace, as a clause; None if nothing was left out.
    """

    path: Path
    damage: str | None = None


def bare_list(path: Path, scratch: Path) -> EventList:
    """The events of a trace in a form that DuckDB can read. Inspects only the beginning and the end of the file.

    Raises:
        InputError: it holds no list of events.
        OSError: it cannot be read or copied.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        start = _start_of_list(path, file)
        if start is None:
            raise InputError(path, "it contains no list of trace events", "Parse the profile again")
        file.seek(max(size - _TAIL, start))
        tail = file.read()
        wrapped = _is_wrapped(file)
        if not wrapped and tail.rstrip().endswith(b"]"):
            return EventList(path)
        found = end_of_list(tail, (match.start() for match in re.finditer(rb"\]", tail))) if wrapped else None
        end = found[0] if found else None
        damage = None
        if end is None:
            end, damage = end_of_last_event(tail), CUT
        if end is None:
            return complete_events(path, scratch)
        copy = scratch / f"events-of-{path.name}"
        check_room(copy, size)
        with copy.open("wb") as out:
            _copy(file, out, start, size - len(tail) + end)
            out.write(b"]")
    return EventList(copy, damage)


def complete_events(path: Path, scratch: Path) -> EventList:
    """A copy of all events before the first broken one, found by parsing each: slow, but correct for any damage.

    Raises:
        InputError: not one event is complete.
        OSError: it cannot be read or copied.
    """
    copy = scratch / f"events-of-{path.name}"
    events = 0
    is_whole = False
    check_room(copy, path.stat().st_size)
    with copy.open("wb") as out:
        for event, is_last in _parsed_events(path):
            out.write(b"," if events else b"[")
            out.write(json.dumps(event, ensure_ascii=False).encode("utf-8", "replace"))  # a lone surrogate becomes "?"
            events += 1
            is_whole = is_last
        out.write(b"]")
    if not events:
        raise InputError(path, "it contains no complete trace event", "Copy it again, or parse the profile again")
    return EventList(copy, None if is_whole else f"it is not valid JSON after {events} events")


def _is_wrapped(file: BinaryIO) -> bool:
    file.seek(0)
    return file.read(64).removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"{"


def _start_of_list(path: Path, file: BinaryIO) -> int | None:
    """Position of the list's opening bracket."""
    head = file.read(64)
    body = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if body[:1] == b"[":
        return head.index(b"[")
    if body[:1] != b"{":
        return 0 if encoding_of(path) == "utf-16" else None
    file.seek(0)
    offset, overlap = 0, b""
    while block := file.read(_BLOCK):
        match = _KEY.search(overlap + block)
        if match:
            return offset - len(overlap) + match.end() - 1
        offset += len(block)
        overlap = block[-256:]
    return None


def end_of_list(tail: bytes, brackets: Iterable[int]) -> tuple[int, dict[str, object]] | None:
    """The end of a wrapped list of events, and the keys of the wrapper that follow it.

    Args:
        tail: the end of the file.
        brackets: places in it where the list may end.

    Returns:
        The first of these places that only keys of the wrapper follow; None if there is none, or if too much text
        looks like such keys without being them.
    """
    text = tail.decode("latin-1")  # a character for each byte
    left = _MOST_READ * len(text)
    for bracket in brackets:
        reached, is_all = _after_keys(text, bracket + 1)
        if is_all:
            with suppress(ValueError, RecursionError):
                keys = json.loads((b'{"": []' + tail[bracket + 1 :]).decode("utf-8", "replace"), strict=False)
                return bracket, {name: value for name, value in keys.items() if name}
        left -= reached - bracket
        if left < 0:
            return None
    return None


def _after_keys(text: str, position: int) -> tuple[int, bool]:
    """How far the rest of an object can be read from behind one of its values, and whether the text is nothing else."""
    while mark := _COMMA_AND_KEY.match(text, position):
        try:
            _, position = _DECODER.raw_decode(text, mark.end())
        except json.JSONDecodeError as error:
            return error.pos, False
        except (ValueError, RecursionError):  # it does not say where
            return len(text), False
    return position, _LAST_BRACE.match(text, position) is not None


def end_of_last_event(tail: bytes) -> int | None:
    """Position after the last complete event of a truncated list; None if the tail does not contain it."""
    ends = [match.start() + 1 for match in _NEXT_EVENT.finditer(tail)]
    starts = [match.end() for match in _NEXT_EVENT.finditer(tail)]
    ends.append(len(tail.rstrip().rstrip(b",").rstrip()))
    for start, end in list(zip(starts, ends[1:], strict=True))[:-4:-1]:
        try:
            event = json.loads(tail[start:end])
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict) and "ph" in event:
            return end
    return None


def _copy(file: BinaryIO, out: BinaryIO, start: int, end: int) -> None:
    file.seek(start)
    left = end - start
    check = interruption()
    while left > 0 and (block := file.read(min(left, _BLOCK))):
        check()
        out.write(block)
        left -= len(block)


def _parsed_events(path: Path) -> Iterator[tuple[dict[str, object], bool]]:
    """Each complete event, and whether the list is known to end after it."""
    decoder = json.JSONDecoder(strict=False)
    check = interruption()
    with path.open(encoding=encoding_of(path), errors="replace", newline="") as file:
        text = file.read(_BLOCK)
        bracket = re.match(r"\s*\[", text) or re.search(r'"traceEvents"\s*:\s*\[', text)
        position = bracket.end() if bracket else len(text)
        waiting: dict[str, object] | None = None
        while True:
            check()
            position = _skip(text, position)
            try:
                event, end = decoder.raw_decode(text, position)
            except (ValueError, RecursionError):
                ended = text[position : position + 1] == "]"
                more = "" if ended or len(text) - position > LONGEST_EVENT else file.read(_BLOCK)
                if not more:
                    if waiting is not None:
                        yield waiting, ended
                    return
                text, position = text[position:] + more, 0
                continue
            if isinstance(event, dict):
                if waiting is not None:
                    yield waiting, False
                waiting = event
            position = end


def _skip(text: str, position: int) -> int:
    """Position of the next event: after white space and a comma."""
    while position < len(text) and text[position] in " \t\r\n,":
        position += 1
    return position


def names_in_trace(path: Path, names: Iterable[str]) -> frozenset[str]:
    """Which of the given names occur as event names in a trace, by one pass over its bytes.

    Raises:
        OSError: it cannot be read.
    """
    pattern = re.compile(rb'"name"\s*:\s*"(' + b"|".join(re.escape(name).encode() for name in names) + rb')"')
    found: set[bytes] = set()
    rest = b""
    for block in Blocks(path):
        text = rest + block
        found |= set(pattern.findall(text))
        rest = text[-128:]
    return frozenset(name.decode() for name in found)
