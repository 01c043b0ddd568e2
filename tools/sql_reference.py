"""Completes docs/sql.md: the result behind each query, and the list of all tables and columns.

    python -m tools.sql_reference            writes docs/sql.md
    python -m tools.sql_reference --check    ends with 1 if docs/sql.md is not current

Queries run on a sample profile, which is the same each time. Tables and columns come from the comments in sql/schema.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from rlcompare.cli.main import run
from rlcompare.resources import resource_root
from tools.sql_columns import FOLDERS, tables_in

TARGET = Path(__file__).resolve().parent.parent / "docs" / "sql.md"
REGENERATE = "python -m tools.sql_reference"
MOST_ROWS = 6
STEP_SECONDS = (31.2, 24.8, 26.1, 24.9)
"""Step times in the sample's training log."""

TITLES = {
    "schema/run": "Run tables",
    "schema/events": "Event tables",
    "schema/views": "Views of events",
    "schema/rollup": "Rollups",
    "history/table": "History",
}
_QUERY = re.compile(r"```sql\n(?P<query>.*?)```\n(?:\n```text\n.*?```\n)?", re.DOTALL)
_TABLES = re.compile(r"(<!-- tables: [^\n]*-->\n).*?(<!-- end of tables -->\n)", re.DOTALL)


def queries_of(page: str) -> list[str]:
    """The queries of the page, in order."""
    return [match["query"] for match in _QUERY.finditer(page)]


def sample_store(folder: Path) -> Path:
    """A store of a sample profile and a training log, with all its events."""
    profile, store = folder / "run", folder / "run.duckdb"
    options = ("--steps", "2,3", "--layers", "2", "--decode-steps", "2", "-q")
    if run(["sample", "-o", str(profile), *options]):
        raise RuntimeError("the sample could not be written")
    steps = [{"step": step, "data": {"timing_s/step": value}} for step, value in enumerate(STEP_SECONDS, 1)]
    (profile / "metrics.jsonl").write_text("".join(f"{json.dumps(step)}\n" for step in steps), "utf-8")
    if run(["ingest", str(profile), "-o", str(store), "-q"]):
        raise RuntimeError("the sample could not be read")
    return store


def completed(page: str, store: Path) -> str:
    """The page with the results of its queries on a store, and with all tables."""
    with duckdb.connect(str(store), read_only=True) as con:
        page = _QUERY.sub(lambda match: f"```sql\n{match['query']}```\n\n{_result(con, match['query'])}", page)
    return _TABLES.sub(lambda match: f"{match[1]}\n{_all_tables()}{match[2]}", page)


def _result(con: duckdb.DuckDBPyConnection, query: str) -> str:
    found = con.execute(query)
    header = [column[0] for column in found.description or ()]
    rows = [[_cell(value) for value in row] for row in found.fetchall()]
    shown = [header, *rows[:MOST_ROWS]]
    widths = [max(len(row[place]) for row in shown) for place in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in shown]
    lines += [f"… {len(rows) - MOST_ROWS} more rows"] if len(rows) > MOST_ROWS else []
    return "\n".join(["```text", *lines, "```", ""])


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _all_tables() -> str:
    lines = []
    for folder in FOLDERS:
        lines += [f"### {TITLES[folder]}", ""]
        for table in tables_in(resource_root("sql"), folder):
            lines += [f"**`{table.name}`**: {table.prose}", "", "| column | type | meaning |", "|---|---|---|"]
            for column in table.columns:
                meaning = column.comment.replace("|", "\\|")
                lines.append(f"| `{column.name}` | {column.type} | {meaning} |")
            lines.append("")
    return "\n".join([*lines, ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes or checks the page; returns 1 if it is not current."""
    parser = argparse.ArgumentParser(prog=REGENERATE, description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="Write nothing; fail if the page is not current.")
    options = parser.parse_args(arguments)
    page = TARGET.read_text("utf-8")
    with tempfile.TemporaryDirectory(prefix="rlcompare-") as folder:
        current = completed(page, sample_store(Path(folder)))
    if options.check and current != page:
        sys.stderr.write(f"docs/sql.md is not current: run {REGENERATE}\n")
        return 1
    if not options.check:
        TARGET.write_text(current, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
