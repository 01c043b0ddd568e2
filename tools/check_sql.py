"""``python -m tools.check_sql`` checks the headers of the SQL files, and the comments of the columns that users see.

A header (``rlcompare/sql_header.py`` has the grammar) names each variable, table, view and macro that the file reads,
and nothing else. What it names is made by another file, or by Python (``MADE_BY_PYTHON``). Wherever one file of a
folder changes what another one reads, the headers say which of the two runs first. "Nothing without" is what
``tools/sql_needs.py`` derives. ``--fix`` rewrites this clause, "Variables" and "Depends on" of all files from their
statements. A problem is one line: file, line, what to do.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from sqlglot.errors import SqlglotError

from rlcompare.resources import resource_root
from rlcompare.sql_header import CLAUSES, Header, HeaderError, Names, read_header
from rlcompare.sql_order import in_order, made, predecessors, variables_set
from tools.sql_columns import FOLDERS, tables_in
from tools.sql_facts import Facts, facts_of
from tools.sql_needs import bodies_in, needs_of

WIDTH = 120
SKIPPED = ("compare", "compare/load", "sources/ascend_db", "sources/nsys", "normalize", "rollup", "account", "store")
"""The folders whose statements are not run where they cannot make rows (clause "Nothing without")."""

MACROS = "sources/macro"
"""The folder of macros that sources, and the first of those folders, use."""

SELF = "tools/check_sql.py"
FIX = "python -m tools.check_sql --fix does it"

MADE_BY_PYTHON = {
    "decoded_texts": "registered by rlcompare/sources/sqlite_input.py",
    "stage_logged": "created by rlcompare/sources/metrics",
    "stage_metric": "created by rlcompare/sources/metrics",
    "stage_name": "created by rlcompare/sources/metrics",
    "stage_sample": "created by rlcompare/sources/metrics",
    "stage_series": "created by rlcompare/sources/metrics",
    "reject_errors": "DuckDB's own",
    "reject_scans": "DuckDB's own",
}
"""Tables that no SQL file makes, and who makes them."""


@dataclass(frozen=True, order=True)
class Problem:
    """A problem to fix, shown as ``file:line: message``."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class SqlFile:
    """One SQL file: its path below sql/ without the suffix, its text, its header and the facts of its statements."""

    name: str
    text: str
    header: Header
    facts: Facts

    @property
    def folder(self) -> str:
        """The folder, below sql/."""
        return self.name.rpartition("/")[0]

    @property
    def stem(self) -> str:
        """The name within the folder."""
        return self.name.rpartition("/")[2]


class Tree:
    """All SQL files below a folder.

    Attributes:
        files: the readable ones, by name.
        problems: the problems of the others.
        makers: the files that create a table, view or macro, by its name.
        kinds: "TABLE", "VIEW" or "MACRO", by name.
    """

    def __init__(self, root: Path) -> None:
        self.files: dict[str, SqlFile] = {}
        self.problems: list[Problem] = []
        self.makers: dict[str, set[str]] = {}
        self.kinds: dict[str, str] = {}
        for path in sorted(root.rglob("*.sql")):
            name = path.relative_to(root).with_suffix("").as_posix()
            text = path.read_text("utf-8")
            try:
                header = read_header(text)
                _ = header.variables, header.depends_on, header.runs_after  # raises if a list is invalid
                self.files[name] = file = SqlFile(name, text, header, facts_of(text))
            except HeaderError as error:
                self.problems.append(problem(name, error.line, str(error)))
                continue
            except SqlglotError as error:
                reason = str(error).splitlines()[0]
                self.problems.append(problem(name, 1, f"sqlglot cannot parse this ({reason}): write it in another way"))
                continue
            for thing, kind in file.facts.creates.items():
                self.makers.setdefault(thing, set()).add(name)
                self.kinds[thing] = kind
        self._bodies = {
            thing: body
            for file in self.files.values()
            if file.folder in (*SKIPPED, MACROS) and {"VIEW", "MACRO"} & set(file.facts.creates.values())
            for thing, body in bodies_in(file.text).items()
        }

    def depends_on(self, file: SqlFile) -> dict[str, int]:
        """Tables, views and macros of other files that a file reads, with line numbers."""
        calls = {name: line for name, line in file.facts.calls.items() if self.kinds.get(name) == "MACRO"}
        return {name: line for name, line in {**calls, **file.facts.tables}.items() if name not in file.facts.creates}

    def variables(self, file: SqlFile) -> dict[str, int]:
        """Variables that a file reads itself, and those that its folder sets for a view or macro that it uses."""
        others = {name for other in self.files.values() if other.folder == file.folder for name in other.facts.sets}
        indirect = {name: line for name, line in self.reach(file)[1].items() if name in others}
        needed = {**indirect, **file.facts.variables}
        return {name: line for name, line in needed.items() if name not in file.facts.sets}

    def needs(self, file: SqlFile) -> str:
        """The clause "Nothing without": tables, and a source's views of its input, that the file needs rows of."""
        if file.folder not in SKIPPED or (file.header.is_run_by_name and not file.folder.startswith("sources/")):
            return ""
        sets = [
            tables
            for tables in needs_of(file.text, self._bodies)
            if all(self.kinds.get(name) == "TABLE" or name.startswith("src_") for name in tables)
        ]
        return ", ".join(sorted((" + ".join(sorted(tables)) for tables in sets), key=lambda text: ("+" in text, text)))

    def reach(self, file: SqlFile) -> tuple[dict[str, int], dict[str, int]]:
        """Tables and variables that a file reads, directly or through views and macros."""
        tables, variables = dict(file.facts.tables), dict(file.facts.variables)
        waiting, seen = list(self.depends_on(file).items()), set(file.facts.creates)
        while waiting:
            thing, line = waiting.pop()
            if thing in seen or self.kinds.get(thing, "TABLE") == "TABLE":
                continue
            seen.add(thing)
            for maker in self.makers[thing]:
                facts = self.files[maker].facts
                tables = {**dict.fromkeys(facts.tables, line), **tables}
                variables = {**dict.fromkeys(facts.variables, line), **variables}
                waiting += [(name, line) for name in self.depends_on(self.files[maker])]
        return tables, variables


def problem(name: str, line: int, message: str) -> Problem:
    """A problem of one file, by its name below sql/."""
    return Problem(f"sql/{name}.sql", line, message)


def header_problems(tree: Tree) -> Iterator[Problem]:
    """Clauses that contradict the statements, and statements that DuckDB runs wrongly."""
    for file in tree.files.values():
        yield from _compared(file, "Depends on ", file.header.depends_on, tree.depends_on(file))
        yield from _compared(file, "Variables: ", file.header.variables, tree.variables(file))
        if file.header.clauses.get("Nothing without ", "") != tree.needs(file):
            message = f"'Nothing without' is not what the statements say: {tree.needs(file) or 'leave it out'} ({FIX})"
            yield problem(file.name, file.header.lines.get("Nothing without ", 1), message)
        for name, line in file.facts.tables.items():
            if name not in tree.makers and name not in MADE_BY_PYTHON:
                message = f"reads {name}, which no SQL file makes: mend the name, or list it in MADE_BY_PYTHON ({SELF})"
                yield problem(file.name, line, message)
        for line in file.facts.null_keys:
            message = "NULL may not match NULL in an ASOF join of DuckDB 1.5: compare with same_key"
            yield problem(file.name, line, message)
        if not file.header.prose:
            yield problem(file.name, 1, "has no header: say in a comment at the top what it makes")


def _compared(file: SqlFile, clause: str, named: Names, needed: Mapping[str, int]) -> Iterator[Problem]:
    word = clause.strip(" :")
    for name, line in needed.items():
        if name not in named:
            yield problem(file.name, line, f"reads {name}, and '{word}' in the header does not name it: add it ({FIX})")
    for name in named:
        if name not in needed:
            line = file.header.lines[clause]
            yield problem(file.name, line, f"'{word}' names {name}, which is not read: remove it ({FIX})")


def order_problems(tree: Tree) -> Iterator[Problem]:
    """Statements that the ordering rules do not cover, and pairs of files whose order is alphabetical by accident."""
    folders: dict[str, dict[str, SqlFile]] = {}
    for file in tree.files.values():
        facts = file.facts
        if made(file.text) != facts.creates.keys() | facts.fills or variables_set(file.text) != facts.sets:
            message = "a CREATE, INSERT, UPDATE or SET stands inside a line: start a line with it"
            yield problem(file.name, 1, message)
        folders.setdefault(file.folder, {})[file.stem] = file
    for folder, files in folders.items():
        try:
            earlier = _closure(predecessors({stem: file.text for stem, file in files.items()}))
        except ValueError as error:
            yield Problem(f"sql/{folder}", 1, str(error))
            continue
        for one, other in combinations(earlier, 2):
            clash = _clash(tree, files[one], files[other])
            if clash and one not in earlier[other] and other not in earlier[one]:
                message = f"{one} and {other} share {clash[0]} and one of them changes it: add 'Runs after' to one"
                yield problem(files[one].name, 1, message)


def _closure(before: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """All files that run before each file, directly or indirectly."""
    closure: dict[str, set[str]] = {}
    for name in in_order(before):
        closure[name] = before[name].union(*(closure[first] for first in before[name]))
    return closure


def _clash(tree: Tree, one: SqlFile, other: SqlFile) -> list[str]:
    """Tables that one of two files changes and the other one uses. Two files may insert rows into the same table."""
    (read, writes), (read_too, writes_too) = ((set(tree.reach(file)[0]), _writes(file)) for file in (one, other))
    only_filled = (one.facts.fills - read) & (other.facts.fills - read_too)
    clash = writes & (read_too | writes_too) | writes_too & read
    return sorted(clash - (only_filled - one.facts.removes - other.facts.removes))


def _writes(file: SqlFile) -> set[str]:
    return file.facts.creates.keys() | file.facts.fills | file.facts.removes


def column_problems(root: Path) -> Iterator[Problem]:
    """Columns of users' tables and views that have no comment."""
    for folder in FOLDERS:
        for table in tables_in(root, folder):
            for column in table.columns:
                if not column.comment:
                    message = (
                        f"column {column.name} has no comment: say behind it, after --, what it means and its unit"
                    )
                    yield problem(table.path, column.line, message)


def fixed(tree: Tree, file: SqlFile) -> str:
    """The text of a file with the clauses that follow from its statements updated: all but those about the order."""
    header, body = [], file.text.split("\n")
    while body and body[0].startswith("--"):
        header.append(body.pop(0))
    prose = header[: min(file.header.lines.values(), default=len(header) + 1) - 1]
    clauses = dict(file.header.clauses)
    for clause, named, needed in (
        ("Variables: ", file.header.variables, tree.variables(file)),
        ("Depends on ", file.header.depends_on, tree.depends_on(file)),
    ):
        items = [f"{name} ({named[name]})" if named.get(name) else name for name in sorted(needed)]
        clauses[clause] = ", ".join(items)
    clauses["Nothing without "] = tree.needs(file)
    for clause in CLAUSES:
        if clauses.get(clause):
            prose += textwrap.wrap(
                f"{clause}{clauses[clause]}.", WIDTH, initial_indent="-- ", subsequent_indent="-- ",
                break_long_words=False, break_on_hyphens=False,
            )  # fmt: skip
    return "\n".join([*prose, *body])


def problems_of(root: Path) -> list[Problem]:
    """All problems of a tree of SQL files, by file and line."""
    tree = Tree(root)
    return sorted([*tree.problems, *header_problems(tree), *order_problems(tree), *column_problems(root)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Checks the tree; returns 1 if there are problems."""
    parser = argparse.ArgumentParser(prog="python -m tools.check_sql", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--fix", action="store_true", help="Rewrite 'Variables' and 'Depends on' from the statements.")
    parser.add_argument("--root", type=Path, default=resource_root("sql"), help="Folder to check.")
    options = parser.parse_args(arguments)
    if options.fix:
        tree = Tree(options.root)
        for file in tree.files.values():
            (options.root / f"{file.name}.sql").write_text(fixed(tree, file), "utf-8")
    problems = problems_of(options.root)
    for found in problems:
        sys.stderr.write(f"{found}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
