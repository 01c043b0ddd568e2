"""``rlcompare analyse``."""

from __future__ import annotations

from pathlib import Path

import click

from rlcompare.app import messages
from rlcompare.cli.options import Command, common_options, option, path_type

_REMEDY = (
    "See logs/ in each folder; torch_npu needs CANN's msprof on PATH and free disk space. To parse one again, delete "
    "its ASCEND_PROFILER_OUTPUT"
)


@click.command("analyse", cls=Command)
@click.argument("path", type=path_type(file_okay=False))
@option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="Folders to parse in parallel.  [default: one per two processors]",
)
@common_options
def command(path: Path, jobs: int | None, quiet: bool) -> None:
    """Parse raw profiles with torch_npu, in place.

    Takes an *_ascend_pt folder, or a folder that contains several. Folders that are already parsed are not changed.
    Needs torch_npu and CANN; raw data can be parsed on any machine that has them.

    \b
    rlcompare analyse runs/live --jobs 8
    """
    from rlcompare.capacity import cores
    from rlcompare.collect.profiler.analyse import State, analyse, find_folders
    from rlcompare.errors import InputError
    from rlcompare.text import safe_text

    folders = find_folders(path)
    bad, was_tried = 0, False
    for number, parsed in enumerate(analyse(folders, jobs or max(1, cores() // 2)), 1):
        reason = f" · {safe_text(parsed.reason, 400)}" if parsed.reason else ""
        click.echo(f"{parsed.state.value:<16}{safe_text(parsed.folder, 1000)}{reason}")
        if parsed.state in (State.FAILED, State.INCOMPLETE):
            bad, was_tried = bad + 1, was_tried or parsed.was_tried
        if not quiet:
            messages.say(f"{number} of {len(folders)} folders")
    if bad:
        remedy = _REMEDY if was_tried else "Fix the problems listed above first: torch_npu was not started"
        raise InputError(path, f"{bad} of {len(folders)} folders are incomplete", remedy)
