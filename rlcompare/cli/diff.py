"""``rlcompare diff``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rlcompare.app.arguments import split_commas
from rlcompare.cli.options import (
    OUTPUT,
    Command,
    Decorated,
    cache_options,
    common_options,
    engine_options,
    language_option,
    option,
    path_type,
    selection_options,
    side_options,
)
from rlcompare.errors import UsageError
from rlcompare.language import tr

DEFAULT_OUTPUT = Path("rlcompare-out")
FORMATS = ("html", "json", "md", "csv", "xlsx", "parquet", "trace")
GATE_FORMATS = ("pr", "junit", "code-quality", "sarif")
"""Formats of verdicts, which only ``rlcompare gate`` has."""


def parse_formats(known: tuple[str, ...]) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], set[str]]:
    """A click callback for a repeatable option: ``md``, or ``md,csv``."""

    def parse(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> set[str]:
        formats = set(split_commas(value))
        unknown = sorted(formats - set(known))
        if set(unknown) & set(GATE_FORMATS):
            raise click.BadParameter(f"{', '.join(unknown)}: only rlcompare gate has verdicts to write", ctx, param)
        if unknown:
            raise click.BadParameter(f"unknown format {', '.join(unknown)}; choose from {', '.join(known)}", ctx, param)
        return formats

    return parse


def output_options(default: Path | None, further: tuple[str, ...] = ()) -> Callable[[Decorated], Decorated]:
    """``-o`` and ``--format``, as ``output`` and ``formats``.

    Args:
        further: formats that this command has beside those of a comparison.
    """

    def decorate(function: Decorated) -> Decorated:
        output = option(
            "-o",
            "--output",
            "--output_path",
            "output",
            type=path_type(file_okay=False),
            metavar="DIR",
            section=OUTPUT,
            help="Directory for report.html and diff.json; replaced only if rlcompare created it."
            + (f"  [default: ./{default}]" if default else "  [default: no report]"),
        )
        formats = option(
            "--format",
            "formats",
            multiple=True,
            callback=parse_formats((*FORMATS, *further)),
            metavar="FORMATS",
            section=OUTPUT,
            help=f"More files in DIR: {','.join((*FORMATS[2:], *further))}.",
        )
        return output(formats(function))

    return decorate


@click.command("diff", cls=Command)
@side_options
@output_options(DEFAULT_OUTPUT)
@option("--json", "as_json", is_flag=True, section=OUTPUT, help="Print diff.json to standard output instead.")
@language_option
@selection_options
@engine_options
@cache_options
@common_options
def command(output: Path | None, formats: set[str], as_json: bool, **options: Any) -> None:
    """Compare two profiles: what got slower, and where.

    Prints a summary, and writes report.html and diff.json. A side is an *_ascend_pt folder, its
    ASCEND_PROFILER_OUTPUT, one .db or text file, a folder of several ranks or runs, verl's save_path, or a store made
    by "rlcompare ingest". A slower run is not an error; to fail on it, use "rlcompare gate".

    \b
    Exit codes: 0 compared, 2 wrong usage, 4 an input could not be read.

    \b
    rlcompare diff -d new/ -bp base/
    rlcompare diff -d cann83=new/ -bp cann82=base/ --varied cann --format md
    rlcompare diff -d new/ -bp base/ --rank 1 --step 50 --json
    """
    from rlcompare.app.comparison import Request, compare_sides, warn_of_unknown_keys
    from rlcompare.app.trace import FORMAT, trace_file

    if as_json and formats and output is None:
        raise UsageError(f"--format {','.join(sorted(formats))} writes files: add -o DIR, or leave out --json")
    folder = output if output or as_json else DEFAULT_OUTPUT
    with trace_file(FORMAT in formats and folder is not None) as trace:
        diff = compare_sides(Request(**options), folder, trace=trace)
        warn_of_unknown_keys(diff, split_commas(options["varied"]))

        from rlcompare.report.document import to_document, to_json
        from rlcompare.report.terminal import TERMINAL_ROWS, print_summary
        from rlcompare.report.view import build_view
        from rlcompare.report.write import write_report
        from rlcompare.text import pad

        written = write_report(diff, folder, formats, trace=trace) if folder else []
    if as_json:
        sys.stdout.write(to_json(to_document(diff)))
    else:
        document = str((folder or DEFAULT_OUTPUT) / "diff.json")
        print_summary(build_view(diff, document=document, rows=TERMINAL_ROWS, pictures=False), sys.stdout)
        click.echo(f"{pad(tr('report'), 12)}{written[0]}")
