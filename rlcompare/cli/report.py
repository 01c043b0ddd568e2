"""``rlcompare report``."""

from __future__ import annotations

from pathlib import Path

import click

from rlcompare.cli.explain import DEFAULT
from rlcompare.cli.one_file import STDOUT, check_output, into_file, write_text
from rlcompare.cli.options import OUTPUT, Command, common_options, language_option, option, path_type
from rlcompare.errors import UsageError

FORMATS = ("html", "md", "xlsx")
_REMEDY = "Pass the diff.json that rlcompare diff wrote"


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
    type=click.Choice(FORMATS),
    section=OUTPUT,
    help="A page, Markdown, or a workbook of all tables.  [default: by the ending of FILE, else html]",
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
    ending = output.suffix.removeprefix(".").lower()
    form = form or (ending if ending in FORMATS else "html")
    check_output(output, [source], "-o")
    if form == "xlsx":
        _write_workbook(source, output)
    else:
        write_text(_text(source, form), output)


def _text(source: Path, form: str) -> str:
    from rlcompare.app.documents import warn_of_missing_rows
    from rlcompare.report.document import read_document
    from rlcompare.report.view import build_view

    diff = read_document(source, _REMEDY)
    warn_of_missing_rows(diff, source)
    view = build_view(diff, document=str(source))
    if form == "md":
        from rlcompare.report.markdown import render_markdown

        return render_markdown(view)
    from rlcompare.report.html import render_page

    return render_page(diff, None, str(source), view)


def _write_workbook(source: Path, output: Path) -> None:
    from rlcompare.app.documents import read_whole
    from rlcompare.report.view import build_view
    from rlcompare.report.workbook import write_workbook

    if output == STDOUT:
        raise UsageError("a workbook is not written to standard output: name a file with -o")
    diff = read_whole(source, _REMEDY)
    view = build_view(diff, document=str(source))
    into_file(output, lambda stream: write_workbook(diff, view, stream))
