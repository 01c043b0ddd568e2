"""``rlcompare ingest``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from rlcompare.cli.options import common_options, layout_option, prefer_option


@click.command("ingest")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="RUN.duckdb",
    help="The store to write; replaced only if it is one.",
)
@layout_option
@prefer_option
@common_options
def command(path: Path, output: Path, layout: str | None, prefer: str, quiet: bool) -> None:
    """Read a profile into a store, one DuckDB file.

    The store holds every event (kernels, collectives, operators, calls), and stands for the profile in every other
    command: rlcompare diff, show and sql take it as they take a raw profile. It holds no environment dump. Call stacks,
    where the profile has them, name files of the machine that it was made on.

    \b
    rlcompare ingest host_17_20250318093015001_ascend_pt -o run.duckdb
    """
    from rlcompare.cli.one_run import find_one_run
    from rlcompare.cli.progress import progress
    from rlcompare.errors import UsageError

    run = find_one_run(path, prefer, layout)
    if run.captures[0].source == "store":
        raise UsageError(f"{path} is a store already")
    if output.resolve().is_relative_to(path.resolve()):
        raise UsageError(f"the store would be written into the input {path}: choose another place with -o")

    from rlcompare.store.build import build_store
    from rlcompare.store.read import is_store

    if output.exists() and not is_store(output):
        raise UsageError(f"{output} exists and is no store: choose another name with -o")
    try:
        with progress("Reading", quiet) as report:
            build_store(run, output, keep_events=True, threads=os.cpu_count() or 1, progress=report)
    except OSError as error:
        raise UsageError(f"{output} cannot be written ({error.strerror}): choose another place with -o") from error
    click.echo(str(output))
