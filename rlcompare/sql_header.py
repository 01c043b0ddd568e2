"""Reads the comment that opens each SQL file: what the file makes, what it needs, and when it runs.

The header is the block of ``--`` lines at the top: prose first, then up to five clauses, in this order, each starting
on a line of its own and ending with a full stop::

    -- Kernels of each step, with their phase.
    -- Variables: capture, keep_events (false: only rollups are kept).
    -- Depends on placed, stage_kernel.
    -- Nothing without stage_kernel.
    -- Runs after chosen_step.
    -- Run by name: in place of text.sql, where a text is not valid UTF-8.

* ``Variables`` lists the DuckDB variables that the file reads, ``Depends on`` the tables, views and macros. A remark in
  parentheses may follow a name.
* ``Nothing without`` lists tables without whose rows the file's queries have none either, so that they need not run:
  nothing is inserted, and tables are made without rows. ``a + b``: if both are empty.
* ``Runs after`` lists files of the same folder that must run first for another reason, mostly because this file deletes
  what they read.
* ``Run by name`` keeps a file out of its folder's order, and says when it runs.

``sql_order`` derives the order of a folder from these clauses; ``tools/check_sql.py`` compares them with the
statements.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

CLAUSES = ("Variables: ", "Depends on ", "Nothing without ", "Runs after ", "Run by name: ")

_ITEM = re.compile(r"(\w+)(?: \(([^()]*)\))?(?:, |$)")

Names = Mapping[str, str]
"""Names in the order in which a clause lists them, and the remark behind each ('' without one)."""


class HeaderError(ValueError):
    """A header that does not follow the grammar; ``line`` is the line of the clause, counted from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Header:
    """The header of one SQL file.

    Attributes:
        prose: what the file makes, without the clauses, in one line.
        clauses: the text of each clause in the header, without its first words and full stop.
        lines: the line on which each clause starts, from 1.
    """

    prose: str
    clauses: Mapping[str, str]
    lines: Mapping[str, int]

    @cached_property
    def variables(self) -> Names:
        """Variables that the file reads."""
        return self._names("Variables: ")

    @cached_property
    def depends_on(self) -> Names:
        """Tables, views and macros that the file reads."""
        return self._names("Depends on ")

    @cached_property
    def nothing_without(self) -> tuple[tuple[str, ...], ...]:
        """Sets of tables: if all tables of a set are empty, the queries and INSERTs of the file make no rows."""
        text = self.clauses.get("Nothing without ", "")
        return tuple(tuple(tables.split(" + ")) for tables in text.split(", ")) if text else ()

    @cached_property
    def runs_after(self) -> Names:
        """Files of the same folder that run first."""
        return self._names("Runs after ")

    @property
    def is_run_by_name(self) -> bool:
        """Whether the file is not part of its folder's order."""
        return "Run by name: " in self.clauses

    def _names(self, clause: str) -> Names:
        text = self.clauses.get(clause, "")
        names: dict[str, str] = {}
        end = 0
        while end < len(text):
            match = _ITEM.match(text, end)
            if match is None:
                raise HeaderError(self.lines[clause], f"'{clause.strip()}' lists names, separated by commas: {text}")
            names[match[1]] = match[2] or ""
            end = match.end()
        return names


@cache
def read_header(text: str) -> Header:
    """The header of an SQL file.

    Raises:
        HeaderError: a clause is out of order, occurs twice, or does not end with a full stop.
    """
    prose: list[str] = []
    clauses: dict[str, list[str]] = {}
    lines: dict[str, int] = {}
    current = prose
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith("--"):
            break
        words = line[2:].strip()
        clause = next((clause for clause in CLAUSES if words.startswith(clause)), None)
        if clause:
            if clauses and CLAUSES.index(clause) <= max(map(CLAUSES.index, clauses)):
                expected = ", ".join(f"'{clause.strip(': ')}'" for clause in CLAUSES)
                raise HeaderError(number, f"a header's clauses are, in this order and once each: {expected}")
            current = clauses[clause] = []
            lines[clause] = number
            words = words[len(clause) :]
        current.append(words)
    joined = {clause: " ".join(parts).strip() for clause, parts in clauses.items()}
    for clause, words in joined.items():
        if not words.endswith("."):
            raise HeaderError(lines[clause], f"'{clause.strip()}' ends with a full stop")
    return Header(" ".join(prose), {clause: words[:-1] for clause, words in joined.items()}, lines)
