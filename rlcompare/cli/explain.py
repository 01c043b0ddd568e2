"""``rlcompare explain``."""

from __future__ import annotations

from pathlib import Path

import click

from rlcompare.cli.options import Command, common_options, language_option, path_type
from rlcompare.errors import UsageError

DEFAULT = Path("rlcompare-out") / "diff.json"


@click.command("explain", cls=Command)
@click.argument("what", metavar="WHAT")
@click.argument("document", metavar="[DIFF.json]", required=False, type=path_type())
@language_option
@common_options
def command(what: str, document: Path | None, quiet: bool) -> None:
    """Show the rows, query and files behind a cause or a metric.

    WHAT is the number of a cause (1 is the first), "unexplained", or the id of a metric such as time.step. Prints the
    rows whose changes sum to it, the query that makes them, a command that prints them from the profiles, and the files
    that were read. Reads the diff.json of an earlier "rlcompare diff"; by default rlcompare-out/diff.json.

    \b
    rlcompare explain 1
    rlcompare explain time.exposed_comm report/diff.json
    """
    from rlcompare.report.document import read_document
    from rlcompare.report.explain import explain, known

    path = document or DEFAULT
    diff = read_document(path, "Pass the diff.json that rlcompare diff wrote")
    lines = explain(diff, what)
    if lines is None:
        raise UsageError(f"{path} has no cause or metric {what!r}; it has {known(diff)}")
    click.echo("\n".join(lines))
