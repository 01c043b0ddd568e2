"""``rlcompare report``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rlcompare.cli.explain import DEFAULT
from rlcompare.cli.one_file import STDOUT, check_output, into_file, write_text
from rlcompare.cli.options import OUTPUT, Command, common_options, language_option, option, path_type
from rlcompare.errors import UsageError

if TYPE_CHECKING:
    from rlcompare.model.diff import Diff
    from rlcompare.report.view import ReportView

_REMEDY = "Pass the diff.json that rlcompare diff wrote"


def _write_page(source: Path, output: Path) -> None:
    from rlcompare.report.html import render_page

    diff, view = _read(source)
    write_text(render_page(diff, None, str(source), view), output)


def _write_markdown(source: Path, output: Path) -> None:
    from rlcompare.report.markdown import render_markdown

    _, view = _read(source)
    write_text(render_markdown(view), output)


def _write_workbook(source: Path, output: Path) -> None:
    from rlcompare.app.documents import read_whole
    from rlcompare.report.view import build_view
    from rlcompare.report.workbook import write_workbook

    if output == STDOUT:
        raise UsageError("a workbook is not written to standard output: name a file with -o")
    diff = read_whole(source, _REMEDY)
    view = build_view(diff, document=str(source))
    into_file(output, lambda stream: write_workbook(diff, view, stream))


def _read(source: Path) -> tuple[Diff, ReportView]:
    from rlcompare.app.documents import warn_of_missing_rows
    from rlcompare.report.document import read_document
    from rlcompare.report.view import build_view

    diff = read_document(source, _REMEDY)
    warn_of_missing_rows(diff, source)
    return diff, build_view(diff, document=str(source))


WRITERS: Mapping[str, Callable[[Path, Path], None]] = {
    "html": _write_page,
    "md": _write_markdown,
    "xlsx": _write_workbook,
}
"""By format, what writes a diff.json as a file."""

_PAGE = "html"


@click.command("report", cls=Command)
@click.argument("document", metavar="[DIFF.json]", required=False, type=path_type())
@option(
    "-o",
    "--output",
    required=True,
    type=path_type(),
    metavar="FILE",
    section=OUTPUT,
    help="The file to write; - for standard output.",
)
@option(
    "--format",
    "form",
    type=click.Choice(tuple(WRITERS)),
    section=OUTPUT,
    help="A page, Markdown, or a workbook of all tables.  [default: by the ending of FILE; html if it has none]",
)
@language_option
@common_options
def command(document: Path | None, output: Path, form: str | None, quiet: bool) -> None:
    """Write the page of an earlier comparison, without its profiles.

    Reads the diff.json of an earlier "rlcompare diff", such as one that a CI job kept; by default
    rlcompare-out/diff.json. A workbook needs the folder data beside it, where long tables are.

    \b
    rlcompare report diff.json -o page.html
    rlcompare report diff.json -o - --format md
    rlcompare report diff.json -o tables.xlsx
    """
    source = document or DEFAULT
    check_output(output, [source], "-o")
    WRITERS[form or _format_of(output)](source, output)


def _format_of(output: Path) -> str:
    """The format that the ending of a file stands for.

    Raises:
        UsageError: it stands for none: a page in a file named *.csv would surprise whoever opens it.
    """
    ending = output.suffix.lower()
    if output == STDOUT or ending in ("", ".htm"):
        return _PAGE
    if ending.removeprefix(".") not in WRITERS:
        known = ", ".join(f".{form}" for form in WRITERS)
        raise UsageError(f"-o {output}: no format of this command ends in {ending}: use {known}, or --format")
    return ending.removeprefix(".")
