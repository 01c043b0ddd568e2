"""``rlcompare show``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlcompare.cli.options import (
    cache_options,
    common_options,
    layout_option,
    path_type,
    prefer_option,
    rank_option,
    step_option,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PREPARE = ("shown_device", "shown_step", "shown_divisor")
SECTIONS = {
    "overview": "Run",
    "env": "Made with",
    "steps": "Steps, mean over ranks of a role, ms",
    "ranks": "Ranks, mean over steps, ms",
    "phases": "Phases, per rank and step, ms",
    "kernels": "Kernels, per rank and step",
    "collectives": "Collectives, per rank and step",
    "memory": "Peak memory over all ranks",
    "memory_categories": "Memory by category of tensor",
    "stacks": "Call stacks, own time per rank and step",
    "metrics": "Training metrics, mean over steps",
    "quality": "Data quality",
}
"""The files of sql/show that make a section each, and their titles."""

ROWS_SHOWN = 40
TEXT_WIDTH = 160
VIEWER_WIDTH = 4000
"""A path that is cut cannot be opened."""


@click.command("show")
@click.argument("path", metavar="RUN", type=path_type())
@click.option("--json", "as_json", is_flag=True, help="Print the sections as one JSON object instead.")
@step_option
@rank_option
@layout_option
@prefer_option
@cache_options
@common_options
def command(path: Path, as_json: bool, **options: Any) -> None:
    """Show one run: its time by step, rank, phase, kernel and collective.

    RUN is a profile of any kind that "rlcompare diff" takes, or a store. Times are means per rank and step. The last
    lines say which tool shows the same data on a timeline.

    \b
    rlcompare show host_17_20250318093015001_ascend_pt
    """
    from rlcompare.cli.interrupt import aside
    from rlcompare.cli.one_run import open_one_store
    from rlcompare.store.read import open_read_only

    with open_one_store(path, keep_events=False, **options) as store, open_read_only(store) as con:
        sections = aside(lambda: list(sections_of(con)))
        captures = con.execute("SELECT source, path FROM capture").fetchall()
    if as_json:
        document = {name: [dict(zip(columns, row, strict=True)) for row in rows] for name, columns, rows in sections}
        json.dump(document, sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        _print(sections, _viewers(path, captures))


def _viewers(path: Path, captures: list[tuple[str, str]]) -> list[str]:
    """What opens the same data elsewhere. Where a store's captures lay, it does not tell."""
    from rlcompare.cli.viewers import viewer_lines
    from rlcompare.sources.peek import file_kind
    from rlcompare.sources.run_directory import describes_a_run

    if path.is_file() and file_kind(path).kind == "store":
        return []
    return viewer_lines(path.parent if describes_a_run(path) else path, captures)


def sections_of(con: DuckDBPyConnection) -> Iterator[tuple[str, list[str], list[tuple[Any, ...]]]]:
    """Each section of a store's run: its name, its columns and its rows."""
    from rlcompare.resources import sql

    for name in PREPARE:
        con.execute(sql(f"show/{name}"))
    for name in SECTIONS:
        result = con.execute(sql(f"show/{name}"))
        yield name, [column[0] for column in result.description or ()], result.fetchall()


def _print(sections: Sequence[tuple[str, list[str], list[tuple[Any, ...]]]], viewers: Sequence[str]) -> None:
    from rlcompare.cli.table import table_lines
    from rlcompare.cli.viewers import TITLE
    from rlcompare.report.output import Line, print_lines
    from rlcompare.report.text import safe_text

    lines: list[Line] = []
    for name, columns, rows in sections:
        measured = [index for index in range(len(columns)) if any(row[index] is not None for row in rows)]
        if not rows or not measured:
            continue
        shown = [[row[index] for index in measured] for row in rows[:ROWS_SHOWN]]
        title = SECTIONS[name]
        texts = table_lines([columns[index] for index in measured], shown, thousands=True, text_width=TEXT_WIDTH)
        lines += [Line(""), Line(title, ((0, len(title), "title"),)), *map(Line, texts)]
        if len(rows) > ROWS_SHOWN:
            lines.append(Line(f"... and {len(rows) - ROWS_SHOWN} more"))
    if viewers:
        lines += [Line(""), Line(TITLE, ((0, len(TITLE), "title"),))]
        lines += [Line(safe_text(line, VIEWER_WIDTH)) for line in viewers]
    print_lines(lines[1:], sys.stdout)
