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
    help="The store to write; replaced only if it is one.",
)
@option("--force", is_flag=True, section=OUTPUT, help="Replace whatever file is there.")
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

    The store holds every event (kernels, collectives, operators, calls), and stands for the profile in every other
    command: rlcompare diff, show and sql take it as they take a raw profile. It holds no environment dump. Call stacks,
    where the profile has them, name files of the machine that it was made on.

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
        raise UsageError(f"{output} exists and is no store: choose another name with -o, or use --force")
    remedy = "make room, or choose another place with -o"
    with mirrored([path], quiet) as mirrors:
        run = find_one_run(mirrors.local(path), prefer, layout, steps=steps, ranks=ranks)
        if run.is_store:
            raise UsageError(f"{path} is a store already")
        chosen = engine_of(engine, ray_address, mirrors)
        with progress("Reading", quiet) as report:
            build_stores({output: run}, keep_events=True, progress=report, remedy=remedy, engine=chosen)
    click.echo(str(output))
