"""Mutators of text in lines (logs, call stacks)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.fuzz.kind import Mutator, NotApplicableError, content_of, one_file
from tests.fuzz.mutators import values

Change = Callable[[list[bytes], Random], str]
_PIECES = (
    b"(", b"{", b'"', b"\\'", b"|", b"\\", b"a/", b" - a/b", b"a:1 ", b"step:1 - ", b"Aa ", b"=", b"a=", b"${", b"\t",
)  # fmt: skip
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def mutators(pattern: str, prefix: str = "lines") -> list[Mutator]:
    """Mutators for one of the texts that match a pattern."""

    def of(change: Change) -> Callable[[Path, Random], str]:
        def apply(folder: Path, random: Random) -> str:
            path = one_file(folder, pattern, random)
            lines = content_of(path).splitlines(keepends=True)
            if not lines:
                raise NotApplicableError
            done = change(lines, random)
            path.write_bytes(b"".join(lines))
            return f"{path.name}: {done}"

        return apply

    return [Mutator(f"{prefix}.{name}", of(change)) for name, change in _CHANGES.items()]


def _number(lines: list[bytes], random: Random) -> str:
    """One number of one line, or the number at that place of many lines."""
    place = random.randrange(len(lines))
    found = list(_NUMBER.finditer(lines[place]))
    if not found:
        raise NotApplicableError
    index = random.randrange(len(found))
    drawn = random.choice((str(values.number(random)), random.choice(values.NUMBERS_AS_TEXT))).encode()
    every = random.choice((1, 7, 100_000))
    changed = 0
    for number, line in enumerate(lines):
        if number != place and random.randrange(every):
            continue
        numbers = list(_NUMBER.finditer(line))
        if index < len(numbers):
            lines[number] = line[: numbers[index].start()] + drawn + line[numbers[index].end() :]
            changed += 1
    return f"number {index} of {changed} lines is {drawn!r:.60}"


def _text(lines: list[bytes], random: Random) -> str:
    place, what = random.randrange(len(lines)), values.text(random).encode("utf-8", "replace")
    at = random.randrange(len(lines[place]) + 1)
    lines[place] = lines[place][:at] + what + lines[place][at:]
    return f"{what!r:.60} in line {place}"


def _raw(lines: list[bytes], random: Random) -> str:
    place, what = random.randrange(len(lines)), random.choice((*values.INVALID_UTF8, b"\0", b"\r", b"\xef\xbb\xbf"))
    at = random.randrange(len(lines[place]) + 1)
    lines[place] = lines[place][:at] + what + lines[place][at:]
    return f"{what!r} in line {place}"


def _delete(lines: list[bytes], random: Random) -> str:
    every = random.choice((2, 7, len(lines)))
    lines[:] = [line for line in lines if random.randrange(every)] or lines[:1]
    return "lines deleted"


def _twice(lines: list[bytes], random: Random) -> str:
    start = random.randrange(len(lines))
    part = lines[start : start + random.choice((1, 10, 1000))]
    lines[start:start] = part
    return f"{len(part)} lines twice"


def _shuffle(lines: list[bytes], random: Random) -> str:
    random.shuffle(lines)
    return "lines in another order"


def _joined(lines: list[bytes], random: Random) -> str:
    lines[:] = [line.rstrip(b"\r\n") + b" " for line in lines]
    return "all in one line"


def _long(lines: list[bytes], random: Random) -> str:
    place, what = random.randrange(len(lines)), random.choice((b"x", b"9", b" ", b"[", b":", b"a-"))
    lines[place] = lines[place].rstrip(b"\n") + what * 1_000_000 + b"\n"
    return f"a million of {what!r} at the end of line {place}"


def _run(lines: list[bytes], random: Random) -> str:
    """What a pattern may begin to match at each of its pieces, only to fail at the end."""
    place, what, is_own = random.randrange(len(lines)), random.choice(_PIECES), random.random() < 0.5
    run = what * (1_000_000 // len(what)) + b"\n"
    lines[place : place + 1] = [lines[place], run] if is_own else [lines[place].rstrip(b"\n") + b" " + run]
    return f"a megabyte of {what!r} {'after' if is_own else 'at the end of'} line {place}"


def _broken(lines: list[bytes], random: Random) -> str:
    place = random.randrange(len(lines))
    at = random.randrange(len(lines[place]) + 1)
    lines[place] = lines[place][:at] + b"\n" + lines[place][at:]
    return f"line {place} broken at {at}"


def _line_ends(lines: list[bytes], random: Random) -> str:
    end = random.choice((b"\r\n", b"\r", b"\n\n", b"\x0b", b"\xe2\x80\xa8"))
    lines[:] = [line.rstrip(b"\r\n") + end for line in lines]
    return f"lines end with {end!r}"


_CHANGES: dict[str, Change] = {
    "number": _number, "text": _text, "raw": _raw, "delete": _delete, "twice": _twice, "shuffle": _shuffle,
    "joined": _joined, "long": _long, "run": _run, "broken": _broken, "line_ends": _line_ends,
}  # fmt: skip
