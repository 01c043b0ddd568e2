"""``rlcompare show``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import click

from rlcompare import language
from rlcompare.cli.one_file import check_page, write_text
from rlcompare.cli.options import (
    OUTPUT,
    READING,
    Command,
    baselines_option,
    cache_options,
    common_options,
    engine_options,
    html_option,
    language_option,
    layout_option,
    option,
    path_type,
    prefer_option,
    rank_option,
    step_option,
)
from rlcompare.language import mark, tr
from rlcompare.secret import redacted

Sections = list[tuple[str, list[str], list[tuple[Any, ...]]]]

LATE = mark("; late: mean delay behind the first rank of its group to start a collective")

PHASES = mark(
    "wall_ms is the host's time; free_ms is the device's, with the wait for a phase's first kernel, which may begin"
    " before the phase."
)

ROWS_SHOWN = 40
PIPED_WIDTH = 140
"""Table width in columns when output is not a terminal. Longer names are cut to fit it."""

TEXT_WIDTH = 160
NAME_WIDTH = 40
"""Names are never cut below this length."""

WHOLE = ("quality",)
"""Sections made of sentences, which are never cut."""

SENTENCE_WIDTH = 1000
VIEWER_WIDTH = 4000
"""Wide enough for whole paths: a cut path cannot be opened."""


@click.command("show", cls=Command)
@click.argument("path", metavar="RUN", type=path_type())
@option("--json", "as_json", is_flag=True, section=OUTPUT, help="Print the sections as one JSON object instead.")
@html_option
@language_option
@step_option
@rank_option
@layout_option
@prefer_option
@baselines_option(READING)
@engine_options
@cache_options
@common_options
def command(path: Path, as_json: bool, page: Path | None, **options: Any) -> None:
    """Show one run: time by step, rank, phase, kernel and collective.

    RUN is a profile of any kind that "rlcompare diff" takes, a store, or a run of a baseline (@NAME/RUN). Times are
    means per rank and step. The last lines say which tool shows the same data on a timeline.

    \b
    rlcompare show host_17_20250318093015001_ascend_pt
    rlcompare show runs/nightly --html nightly.html
    """
    from rlcompare.app.one_run import read_one_store
    from rlcompare.app.sections import sections_of
    from rlcompare.db import open_read_only
    from rlcompare.interrupt import aside

    check_page(page, [path], as_json=as_json)

    def read(store: Path) -> tuple[Sections, list[tuple[str, str]]]:
        with open_read_only(store) as con:
            return aside(lambda: list(sections_of(con))), con.execute("SELECT source, path FROM capture").fetchall()

    sections, captures = read_one_store(path, read, keep_events=False, **options)
    if page is not None:
        _write_page(sections, path, page)
    elif as_json:
        document = {name: [dict(zip(columns, row, strict=True)) for row in rows] for name, columns, rows in sections}
        json.dump(document, sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        _print(sections, [redacted(line) for line in _viewers(path, captures, options["baselines"])])


def _write_page(sections: Sections, path: Path, page: Path) -> None:
    from rlcompare.app.sections import SECTIONS
    from rlcompare.report.html import page_of
    from rlcompare.report.one_run import RunSection, run_view

    with language.speaking(language.of_page()):
        found = [RunSection(name, tr(SECTIONS[name]), columns, rows) for name, columns, rows in sections]
        text = page_of("one_run.html.j2", run_view(found, redacted(str(path))))
    write_text(text, page)


def _viewers(path: Path, captures: list[tuple[str, str]], baselines: str | None) -> list[str]:
    """Other tools that open the same data. A store does not record where its captures were."""
    from rlcompare.app.baselines import referred
    from rlcompare.app.selection import folder_and_run
    from rlcompare.app.viewers import viewer_lines
    from rlcompare.sources.peek import file_kind
    from rlcompare.sources.run_directory import describes_a_run

    if not path.exists() and referred(path, baselines) is not None:
        return []
    path, _ = folder_and_run(path)
    if path.is_file() and file_kind(path).kind == "store":
        return []
    return viewer_lines(path.parent if describes_a_run(path) else path, captures)


def _print(sections: Sequence[tuple[str, list[str], list[tuple[Any, ...]]]], viewers: Sequence[str]) -> None:
    from rlcompare.app.sections import SECTIONS
    from rlcompare.app.viewers import TITLE
    from rlcompare.report.one_run import measured
    from rlcompare.report.output import Line, print_lines
    from rlcompare.text import safe_text

    width = max(PIPED_WIDTH, get_terminal_size().columns) if sys.stdout.isatty() else PIPED_WIDTH
    lines: list[Line] = []
    on_device = any(rows for name, _, rows in sections if name == "kernels")
    for name, columns, rows in sections:
        places = measured(columns, rows)
        if not places:
            continue
        shown = [[row[index] for index in places] for row in rows[:ROWS_SHOWN]]
        names = [columns[index] for index in places]
        title = tr(SECTIONS[name]) + (tr(LATE) if "late_ms" in names else "")
        texts = _table(names, shown, None if name in WHOLE else width)
        lines += [Line(""), Line(title, ((0, len(title), "title"),)), *map(Line, texts)]
        if len(rows) > ROWS_SHOWN:
            lines.append(Line(tr("... and {n} more", n=len(rows) - ROWS_SHOWN)))
        if on_device and {"wall_ms", "free_ms"} <= set(names):
            lines.append(Line(tr(PHASES)))
    if viewers:
        heading = tr(TITLE)
        lines += [Line(""), Line(heading, ((0, len(heading), "title"),))]
        lines += [Line(safe_text(line, VIEWER_WIDTH)) for line in viewers]
    print_lines(lines[1:], sys.stdout)


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int | None) -> list[str]:
    """The lines of a table. Names are cut if the table would be wider than ``width``."""
    from rlcompare.report.table import table_lines
    from rlcompare.text import width_of

    if width is None:
        return table_lines(columns, rows, thousands=True, text_width=SENTENCE_WIDTH)
    lines = table_lines(columns, rows, thousands=True, text_width=TEXT_WIDTH)
    over = max(map(width_of, lines)) - width
    longest = max((width_of(value) for row in rows for value in row if isinstance(value, str)), default=0)
    if over <= 0 or longest <= NAME_WIDTH:
        return lines
    name_width = max(NAME_WIDTH, min(longest, TEXT_WIDTH) - over)
    return table_lines(columns, rows, thousands=True, text_width=name_width)
