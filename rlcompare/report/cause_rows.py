"""Which rows of the tables a cause consists of, or points to: so that both can be marked and linked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping

from rlcompare.model.diff import Cause, Diff, Row
from rlcompare.report.explain import account_of

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


def _keys(diff: Diff, cause: Cause) -> list[tuple[str, Hashable]]:
    """The rows of a cause, the one that is its evidence first: their sections, and what finds them there."""
    keys: list[tuple[str, Hashable]] = []
    if cause.section and cause.row:
        keys.append((cause.section, cause.row))
    account = account_of(diff)
    keys.extend(
        ("phases", row["name"]) if row.get("kind") == "timer" else (account, _key(row))
        for row in cause.rows
        if row.get("name") is not None
    )
    return keys


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
