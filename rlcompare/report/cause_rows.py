"""Which rows of the tables a cause consists of, or points to, and what ``rlcompare explain`` says of them.

The page marks and links both, and shows the commands that print the same.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Hashable, Mapping
from typing import NamedTuple

from rlcompare.language import tr
from rlcompare.model.diff import Cause, Diff, Row
from rlcompare.report import quantity
from rlcompare.report.explain import COLUMNS, account_of, commands_of, origin_of, rows_of, sum_of
from rlcompare.text import safe_text

_COMMAND_LIMIT = 2000

Marks = Mapping[str, Mapping[int, tuple[int, ...]]]
"""The numbers of the causes (from 1) of a row, by section and the row's place."""


def marks_of(diff: Diff) -> Marks:
    """The rows of all causes."""
    found: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    places: dict[str, dict[Hashable, int]] = {}
    for number, cause in enumerate(diff.causes, 1):
        for section, key in _keys(diff, cause):
            if section not in places:
                places[section] = _places(diff, section)
            place = places[section].get(key)
            if place is not None and number not in found[section][place]:
                found[section][place].append(number)
    return {
        section: {place: tuple(numbers) for place, numbers in sorted(rows.items())} for section, rows in found.items()
    }


def anchors_of(marks: Marks, number: int, rows: int) -> tuple[str, ...]:
    """The anchors of a cause's rows among the first ``rows`` of each table, those of its evidence's table first."""
    return tuple(
        anchor(section, place)
        for section, found in marks.items()
        for place, numbers in found.items()
        if number in numbers and place < rows
    )


def anchor(section: str, place: int) -> str:
    """The anchor of a row; names never stand in one."""
    return f"s-{section}:{place + 1}"


class EvidenceRow(NamedTuple):
    """A row of a cause: its texts as in ``explain.COLUMNS``, and its anchor, if it is on the page."""

    cells: tuple[str, ...]
    anchor: str


class Command(NamedTuple):
    """A command to copy, and what it prints."""

    label: str
    text: str


class Evidence(NamedTuple):
    """The rows of a cause, and where they come from; ``total`` and ``query`` are empty if it has no rows of its own."""

    number: int
    columns: tuple[str, ...]
    rows: tuple[EvidenceRow, ...]
    total: str
    query: str
    commands: tuple[Command, ...]


def evidence_of(diff: Diff, document: str, limit: int) -> tuple[Evidence, ...]:
    """The evidence of each cause.

    Args:
        document: path of the diff.json, for commands.
        limit: number of rows of a table that are on the page.
    """
    places: dict[str, dict[Hashable, int]] = {}
    return tuple(_evidence(diff, number, cause, document, limit, places) for number, cause in enumerate(diff.causes, 1))


def _evidence(
    diff: Diff, number: int, cause: Cause, document: str, limit: int, places: dict[str, dict[Hashable, int]]
) -> Evidence:
    rows = []
    for part, values in zip(cause.rows, rows_of(diff, cause), strict=True):
        section, key = _key_of(diff, part)
        if section not in places:
            places[section] = _places(diff, section)
        place = places[section].get(key, limit)
        texts = (*map(_text, values[:3]), *map(_time, values[3:5]), *map(_change, values[5:]))
        rows.append(EvidenceRow(texts, anchor(section, place) if place < limit else ""))
    query, table, condition = origin_of(diff, cause)
    found = [(tr("the same on a terminal"), explain_command(str(number), document))]
    found += commands_of(diff, f"FROM {table} WHERE {condition}") if rows else ()
    return Evidence(
        number,
        tuple(tr(column) for column in COLUMNS),
        tuple(rows),
        safe_text(sum_of(diff, cause)) if rows else "",
        tr("{file}, from table {table} of each run", file=query, table=table) if rows else "",
        tuple(Command(label, text) for label, text in found if text and len(text) <= _COMMAND_LIMIT),
    )


def explain_command(what: str, document: str) -> str:
    """The command that explains a cause or a metric; empty if a name in it cannot be pasted into a shell."""
    text = f"rlcompare explain {shlex.quote(what)} {shlex.quote(document)}"
    return text if safe_text(text, _COMMAND_LIMIT) == text else ""


def _text(value: object) -> str:
    return "" if value is None else safe_text(value)


def _time(value: object) -> str:
    return quantity.amount(value if isinstance(value, (int, float)) else None, "ms")


def _change(value: object) -> str:
    return quantity.signed(value if isinstance(value, (int, float)) else None, "ms")


def _keys(diff: Diff, cause: Cause) -> list[tuple[str, Hashable]]:
    """The rows of a cause, the one that is its evidence first: their sections, and what finds them there."""
    keys: list[tuple[str, Hashable]] = []
    if cause.section and cause.row:
        keys.append((cause.section, cause.row))
    keys.extend(_key_of(diff, row) for row in cause.rows if row.get("name") is not None)
    return keys


def _key_of(diff: Diff, part: Row) -> tuple[str, Hashable]:
    """The section of a part of a cause, and what finds it there."""
    return ("phases", part.get("name")) if part.get("kind") == "timer" else (account_of(diff), _key(part))


def _places(diff: Diff, section: str) -> dict[Hashable, int]:
    """The place of each row of a section, by its name and, in an account, by all of its key; the first one counts."""
    found: dict[Hashable, int] = {}
    rows = diff.sections[section].rows if section in diff.sections else ()
    for place, row in enumerate(rows):
        found.setdefault(row.get("name"), place)
        if "kind" in row and "phase" in row:
            found.setdefault(_key(row), place)
    return found


def _key(row: Row) -> tuple[object, ...]:
    return row.get("kind"), row.get("phase"), row.get("name")
