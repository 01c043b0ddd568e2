"""The order in which the SQL files of one folder run, derived from their headers (``sql_header``).

A file runs after all files of its folder that make what its header depends on: files that create, fill or update the
table, or set the variable. A file that adds rows to a table runs after the one that creates it. "Runs after" adds files
to that. It also decides the order of two files that change what the other reads: a file never waits for one that runs
after it. Files that do not wait for each other run in alphabetical order. Queries, which make nothing, and files that
are run by name are not part of the order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush

from rlcompare.sql_header import read_header

_VERB = re.compile(r"^(?:CREATE|INSERT|UPDATE|DELETE|DROP|SET)\b", re.MULTILINE)
_MADE = re.compile(
    r"^(?:CREATE (?:OR REPLACE )?(?:TEMP )?(?:TABLE|VIEW|MACRO) (?:IF NOT EXISTS )?|INSERT INTO |UPDATE )\"?(\w+)",
    re.MULTILINE,
)
_CREATED = re.compile(r"^CREATE (?:OR REPLACE )?(?:TEMP )?TABLE (?:IF NOT EXISTS )?\"?(\w+)", re.MULTILINE)
_INSERTED = re.compile(r"^INSERT INTO \"?(\w+)", re.MULTILINE)
_SET = re.compile(r"^SET VARIABLE (\w+)", re.MULTILINE)
_TEMPORARY = re.compile(r"^CREATE (?:OR REPLACE )?TEMP TABLE (?:IF NOT EXISTS )?\"?(\w+)", re.MULTILINE)
_READ_LATER = re.compile(r"^CREATE (?:OR REPLACE )?(?:TEMP )?(?:VIEW|MACRO) \"?(\w+)", re.MULTILINE)


def is_query(text: str) -> bool:
    """Whether a file only reads: it makes, changes and removes nothing."""
    return _VERB.search(text) is None


def made(text: str) -> frozenset[str]:
    """Tables, views and macros that a file creates, fills or updates. Statements start at the start of a line."""
    return frozenset(_MADE.findall(text))


def filled(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Tables that a file creates, and tables that it adds rows to."""
    return frozenset(_CREATED.findall(text)), frozenset(_INSERTED.findall(text))


def variables_set(text: str) -> frozenset[str]:
    """Variables that a file sets."""
    return frozenset(_SET.findall(text))


def predecessors(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """For each file of the order, the files that it waits for.

    Args:
        texts: all files of one folder, by name.

    Raises:
        ValueError: a header is wrong, or runs after a file that is not in the order.
    """
    headers = {name: read_header(text) for name, text in texts.items() if not is_query(text)}
    headers = {name: header for name, header in headers.items() if not header.is_run_by_name}
    makers: dict[str, set[str]] = {}
    for name in headers:
        for thing in (*made(texts[name]), *(f"${variable}" for variable in variables_set(texts[name]))):
            makers.setdefault(thing, set()).add(name)
    creators = {table: name for name in headers for table in filled(texts[name])[0]}
    before: dict[str, set[str]] = {}
    for name, header in headers.items():
        needed = (*header.depends_on, *(f"${variable}" for variable in header.variables))
        creating = {creators[table] for table in filled(texts[name])[1] if table in creators}
        before[name] = set().union(*(makers.get(thing, ()) for thing in needed), header.runs_after, creating) - {name}
        if missing := sorted(header.runs_after.keys() - headers.keys()):
            raise ValueError(f"{name}.sql runs after {missing[0]}, which is not in the order of its folder")
    for name, header in headers.items():
        for first in header.runs_after:
            before[first].discard(name)
    return before


def last_uses(texts: Mapping[str, str], tables: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """For each file, the tables that no later file uses: they may be dropped once it has run.

    Args:
        texts: files, by name, in the order in which they run.
        tables: tables that may be dropped; the temporary tables that the files make are added.
    """
    droppable = set(tables)
    behind: dict[str, set[str]] = {}  # what is read through a view or macro
    last: dict[str, str] = {}
    for name, text in texts.items():
        used = {*made(text), *read_header(text).depends_on}
        used.update(*(behind.get(thing, ()) for thing in used))
        behind.update(dict.fromkeys(_READ_LATER.findall(text), used))
        droppable.update(_TEMPORARY.findall(text))
        last.update(dict.fromkeys(used, name))
    return {name: tuple(sorted(table for table in droppable if last.get(table) == name)) for name in texts}


def in_order(before: Mapping[str, set[str]]) -> list[str]:
    """The keys, each after the keys in its value. Of the keys that can come next, the alphabetically first is taken.

    Raises:
        ValueError: some keys wait for each other in a circle.
    """
    after: dict[str, list[str]] = {name: [] for name in before}
    for name, firsts in before.items():
        for first in firsts:
            after[first].append(name)
    waiting = {name: len(firsts) for name, firsts in before.items()}
    ready = [name for name, count in waiting.items() if not count]
    heapify(ready)
    order: list[str] = []
    while ready:
        order.append(heappop(ready))
        for later in after[order[-1]]:
            waiting[later] -= 1
            if not waiting[later]:
                heappush(ready, later)
    if circle := sorted(before.keys() - set(order)):
        raise ValueError(f"these files wait for each other: {', '.join(circle)}; add 'Runs after' to one of them")
    return order
