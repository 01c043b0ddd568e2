"""``rlcompare ingest``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from rlcompare.cli.options import (
    OUTPUT,
    Command,
    common_options,
    engine_options,
    layout_option,
    option,
    path_type,
    prefer_option,
    rank_option,
    step_option,
)


@click.command("ingest", cls=Command)
@click.argument("path", type=path_type())
@option(
    "-o",
    "--output",
    type=path_type(dir_okay=False),
    required=True,
    metavar="RUN.duckdb",
    section=OUTPUT,
    help="The store to write. An existing file is replaced only if it is a store.",
)
@option("--force", is_flag=True, section=OUTPUT, help="Replace an existing file even if it is not a store.")
@step_option
@rank_option
@layout_option
@prefer_option
@engine_options
@common_options
def command(
    path: Path,
    output: Path,
    force: bool,
    steps: tuple[int, ...] | None,
    ranks: tuple[int, ...] | None,
    layout: str | None,
    prefer: str,
    engine: str,
    ray_address: str | None,
    quiet: bool,
) -> None:
    """Read a profile into a store, one DuckDB file.

    The store contains every event (kernels, collectives, operators, calls). Every other command accepts it in place of
    the profile: rlcompare diff, show, sql. It contains no environment dump. Recorded call stacks contain file names of
    the machine that was profiled.

    \b
    rlcompare ingest host_17_20250318093015001_ascend_pt -o run.duckdb
    """
    from rlcompare.app.engine import engine_of
    from rlcompare.app.one_run import find_one_run
    from rlcompare.app.progress import progress
    from rlcompare.app.remote import mirrored
    from rlcompare.app.stores import refuse_special, refuse_within
    from rlcompare.errors import UsageError

    refuse_within(output, [path], "the store", "-o")
    refuse_special(output)

    from rlcompare.db import is_store
    from rlcompare.store.cache import build_stores

    if os.path.lexists(output) and not force and not is_store(output):
        raise UsageError(f"{output} exists and is not a store: choose another name with -o, or use --force")
    remedy = "free some disk space, or choose another path with -o"
    with mirrored([path], quiet) as mirrors:
        run = find_one_run(mirrors.local(path), prefer, layout, steps=steps, ranks=ranks)
        if run.is_store:
            raise UsageError(f"{path} is already a store")
        chosen = engine_of(engine, ray_address, mirrors)
        with progress("Reading", quiet) as report:
            build_stores({output: run}, keep_events=True, progress=report, remedy=remedy, engine=chosen)
    click.echo(str(output))
