"""``rlcompare attach``."""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rlcompare.app import messages
from rlcompare.app.arguments import split_commas
from rlcompare.cli.options import OUTPUT, Command, common_options, option, parse_numbers, path_type
from rlcompare.errors import InputError, UsageError

if TYPE_CHECKING:
    from rlcompare.collect.attach.follow import Outcome
    from rlcompare.collect.attach.request import Request

_CONTENTS = ("npu", "cpu", "memory", "shapes", "module", "stack")
_LEVELS = ("level_none", "level0", "level1", "level2")
_MOST_STEPS = 2**31 - 1

STEPS = "Steps and ranks"
PROFILER = "Profiler"


def _finite(ctx: click.Context, param: click.Parameter, value: float) -> float:
    """A click callback that refuses nan, which passes a range, and infinity, for which the wait would never end."""
    if not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a number of seconds", ctx, param)
    return value


@click.command("attach", cls=Command)
@click.argument("folder", metavar="CONFIG_DIR", type=path_type(file_okay=False))
@option(
    "--active",
    type=click.IntRange(1, _MOST_STEPS),
    default=1,
    metavar="N",
    show_default=True,
    section=STEPS,
    help="Steps to record.",
)
@option(
    "--warmup",
    type=click.IntRange(0, _MOST_STEPS),
    default=1,
    show_default=True,
    metavar="N",
    section=STEPS,
    help="Warm-up steps before them.",
)
@option(
    "--start-step",
    type=click.IntRange(0, _MOST_STEPS),
    metavar="N",
    section=STEPS,
    help="Start after step N of the job; N is at least 1.  [default: immediately]",
)
@option(
    "--rank",
    "ranks",
    callback=parse_numbers,
    metavar="NUMBERS",
    section=STEPS,
    help="Only these ranks, such as 0-7,63. Parse the result with rlcompare analyse.",
)
@option(
    "--level",
    type=click.Choice(_LEVELS),
    default="level0",
    show_default=True,
    section=PROFILER,
    help="torch_npu's profiler_level.",
)
@option("--contents", multiple=True, metavar="LIST", section=PROFILER, help=f"Any of {','.join(_CONTENTS)}.")
@option("--with-flops", is_flag=True, section=PROFILER, help="Mark floating-point operations (torch_npu 2.13).")
@option(
    "--no-analysis",
    is_flag=True,
    section=PROFILER,
    help="Leave raw data for rlcompare analyse. Otherwise the job stops while torch_npu parses.",
)
@option(
    "-o", "--output", type=path_type(), metavar="DIR", section=OUTPUT, help="A new folder.  [default: one in runs/]"
)
@option(
    "--timeout",
    type=click.FloatRange(1),
    callback=_finite,
    default=1800.0,
    metavar="SECONDS",
    show_default=True,
    section=OUTPUT,
    help="How long to wait for the profile.",
)
@option(
    "--for-start",
    is_flag=True,
    section=OUTPUT,
    help="Only write a configuration, which the job's code passes to dynamic_profile.start().",
)
@common_options
def command(
    folder: Path,
    active: int,
    warmup: int,
    start_step: int | None,
    ranks: tuple[int, ...] | None,
    level: str,
    contents: tuple[str, ...],
    with_flops: bool,
    no_analysis: bool,
    output: Path | None,
    timeout: float,
    for_start: bool,
    quiet: bool,
) -> None:
    """Profile a job that is already running.

    The job must run under torch_npu.profiler.dynamic_profile; CONFIG_DIR is the folder of its PROF_CONFIG_PATH or
    dynamic_profile.init. Other settings in its
    profiler_config.json stay as they are. If the job cannot deliver a profile, the command says why and exits with 4.

    \b
    rlcompare attach CONFIG_DIR --active 3 -o runs/live
    """
    from rlcompare.collect.attach.follow import attach
    from rlcompare.collect.attach.request import Request, check_path
    from rlcompare.collect.profiler.disk import check_room

    if not folder.is_dir():
        raise InputError(folder, "there is no such folder", "Name the folder that the job was started with")
    chosen = split_commas(contents)
    if unknown := [name for name in chosen if name not in _CONTENTS]:
        raise UsageError(f"--contents {unknown[0]}: choose from {', '.join(_CONTENTS)}")
    if start_step == 0:
        raise UsageError(
            "--start-step 0: torch_npu checks for requests when a step ends, so the first possible step is 1"
        )
    target = (output or Path("runs") / f"attach-{datetime.now():%Y%m%d-%H%M%S}").resolve()
    check_path(folder.resolve(), "CONFIG_DIR")
    check_path(target, "-o")
    _check_empty(target)
    check_room(target, "npu", len(ranks or (0,)))
    request = Request(
        folder=folder.resolve(),
        output=target,
        active=active,
        warmup=warmup,
        start_step=start_step,
        ranks=ranks,
        level=level,
        contents=chosen,
        analysis=not no_analysis,
        with_flops=with_flops,
    )
    if for_start:
        _write_for_start(request, target)
        return

    def say(text: str) -> None:
        if not quiet:
            messages.say(text)

    _show(attach(request, timeout, say), request.folder, target)


def _write_for_start(request: Request, target: Path) -> None:
    """Writes a configuration for ``dynamic_profile.start``, which begins when the job's code calls it, on each rank."""
    from rlcompare.collect.attach.request import START_CONFIG, settings, write_config
    from rlcompare.text import safe_text

    if request.start_step is not None or request.ranks is not None:
        raise UsageError(
            "--for-start: dynamic_profile.start() records from its call on, on each rank that calls it: remove "
            "--start-step and --rank, and call it where and on the ranks that you want"
        )
    file = request.folder / START_CONFIG
    write_config(file, settings(request, {}), 0)
    click.echo(
        f"call        dynamic_profile.start({safe_text(str(file), 1000)!r}), and dynamic_profile.step() after it"
    )
    for command in _next(target, request.analysis):
        click.echo(f"next        {command}")


def _check_empty(target: Path) -> None:
    """Refuses a folder with files: new files are taken for the profile, and a side of a diff must not hold others."""
    try:
        taken = next(target.iterdir(), None)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"-o {target}: {error.strerror}; choose another folder") from error
    if taken is not None:
        raise UsageError(f"-o {target} is not empty: choose a new folder")


def _show(outcome: Outcome, folder: Path, target: Path) -> None:
    """Prints the result and the next command to type, or why something is missing.

    Raises:
        InputError: something is missing.
    """
    from rlcompare.text import safe_text

    captures = outcome.captures
    for capture in captures:
        state = "parsed" if capture.is_parsed else "raw"
        rank = f"rank {capture.rank} · " if capture.rank >= 0 else ""
        click.echo(f"profile     {safe_text(capture.folder, 1000)} · {rank}from step {capture.first_step} · {state}")
    if len({capture.first_step for capture in captures}) > 1:
        messages.say("the ranks started at different steps; use --start-step to start all of them at the same step")
    if captures:
        for command in _next(target, all(capture.is_parsed for capture in captures)):
            click.echo(f"next        {command}")
    for line in outcome.quoted:
        messages.say(line, limit=400)
    if outcome.reason:
        raise InputError(folder, outcome.reason.problem, outcome.reason.remedy)


def _next(target: Path, is_parsed: bool) -> list[str]:
    import shlex

    place = shlex.quote(str(target))
    parse = [] if is_parsed else [f"rlcompare analyse {place}"]
    return [*parse, f"rlcompare diff -d {place} -bp BASELINE"]
