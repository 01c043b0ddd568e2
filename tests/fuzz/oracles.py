"""What must hold for every input, whatever it is: sentences about what does not."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from rlcompare.resources import resource_root
from tests.fuzz.forked import LIMIT_BYTES, LIMIT_SECONDS
from tests.fuzz.invariants import contradictions
from tests.fuzz.kind import Kind, Outcome

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What no terminal and no page may get from an input: C0, C1, marks of direction, line and paragraph separators."""

TOO_LONG = "it did not end within"
"""How the rule begins that an input breaks by its time alone."""

SCRIPT = "<script>alert(1)"
"""Mutators plant this; it must stand nowhere as it is."""

_SCHEMA = resource_root("report_templates") / "diff.schema.json"
_LARGEST_OUTPUT, _LARGEST_DOCUMENT = 20_000, 40_000_000
_ERROR = re.compile(r"rlcompare: error: ")

Tree = dict[str, tuple[object, ...]]


def tree(folder: Path) -> Tree:
    """Every path below a folder, with its size, times and mode."""
    found: Tree = {}
    for root, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = os.path.join(root, name)  # noqa: PTH118, names may be no valid text
            status = os.lstat(path)
            size = None if name in folders else status.st_size
            found[os.path.relpath(path, folder)] = (size, status.st_mtime_ns, status.st_mode, status.st_ino)
    return found


def broken_rules(kind: Kind, outcome: Outcome) -> Iterator[str]:
    """What does not hold for the outcome of one command."""
    if outcome.code is None:
        yield f"{TOO_LONG} {LIMIT_SECONDS:.0f} s"
        return
    if outcome.peak_bytes > LIMIT_BYTES:
        yield f"it took {outcome.peak_bytes >> 20} MiB of memory"
    if outcome.code not in kind.codes:
        yield f"exit code {outcome.code}: {outcome.err.strip()[-300:]}"
    if "Traceback (most recent call last)" in outcome.err + outcome.out:
        yield f"a traceback: {outcome.err.strip()[-300:]}"
    for name, text in (("standard output", outcome.out), ("standard error", outcome.err)):
        if match := CONTROL.search(text):
            yield f"{name} has the control character {match.group()!r}: {text[max(match.start() - 40, 0) :][:80]!r}"
        if len(text) > (_LARGEST_DOCUMENT if "--json" in outcome.arguments else _LARGEST_OUTPUT):
            yield f"{name} has {len(text)} characters"
    if outcome.code not in (0, None):
        yield from _of_error(outcome)
    yield from _of_report(outcome)
    yield from kind.check(outcome)


def _of_error(outcome: Outcome) -> Iterator[str]:
    if outcome.code in (2, 4):
        lines = [line for line in outcome.err.splitlines() if not line.startswith("  - ")]
        if len(lines) != 1 or not _ERROR.match(lines[0]):
            yield f"no line of error, or more than one: {outcome.err[:300]!r}"
        if str(outcome.places.out) in outcome.arguments and outcome.places.out.exists():
            yield "a report was written in spite of the error"


def _of_report(outcome: Outcome) -> Iterator[str]:
    try:
        document = outcome.document
    except ValueError as error:
        yield f"diff.json: {error}"
        return
    if document is None:
        return
    invalid = jsonschema.exceptions.best_match(_validator().iter_errors(document))
    if invalid is not None:
        yield f"diff.json is not valid: {invalid.json_path}: {invalid.message[:200]}"
    for place, value in contradictions(document):
        yield f"contradiction at {place}: {value}"
    for path in sorted(outcome.places.out.rglob("*")):
        if path.suffix in (".html", ".md", ".csv", ".json"):
            yield from _of_text(path.name, path.read_bytes())


def _of_text(name: str, content: bytes) -> Iterator[str]:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        yield f"{name} is not valid UTF-8 at byte {error.start}"
        return
    if match := CONTROL.search(text):
        yield f"{name} has the control character {match.group()!r}"
    if name.endswith(".html") and SCRIPT in text:
        yield f"{name} has a script of the input"


@cache
def _validator() -> Any:
    schema = json.loads(_SCHEMA.read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(schema)


def numbers_of(document: dict[str, Any]) -> dict[str, float | None]:
    """The numbers of a comparison that a harmless change of an input must not alter, by what they are of."""
    numbers: dict[str, float | None] = {}
    for row in document["overall"]:
        numbers[f"overall {row['metric']}"] = row["new"]
    for section, info in document["section_info"].items():
        if section in ("env", "msprof"):
            continue
        keys = ("name", *info["keys"])
        for row in document["sections"][section]:
            name = f"{section} {[row.get(key) for key in keys]}"
            while name in numbers:  # rows of one key differ in something else; their order is that of their size
                name += "'"
            numbers[name] = row["new"]
    for cause in document["causes"]:
        numbers[f"cause {cause['text']}"] = cause["delta_ms"]
    return numbers


def altered(sound: dict[str, float | None], mutant: dict[str, float | None]) -> Iterator[str]:
    """How numbers differ that should not."""
    for name in sorted({*sound, *mutant}):
        if name not in mutant:
            yield f"{name} is gone"
        elif name not in sound:
            yield f"{name} is new"
        elif not _same(sound[name], mutant[name]):
            yield f"{name} was {sound[name]}, is {mutant[name]}"


def _same(a: object, b: object) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return abs(a - b) <= 1e-9 * max(abs(a), abs(b))
    return a == b
