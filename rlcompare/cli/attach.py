"""``rlcompare run --attach``: a profile of a job that runs already."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from rlcompare.app.arguments import split_commas
from rlcompare.cli.options import parse_numbers, path_type
from rlcompare.errors import InputError, UsageError

if TYPE_CHECKING:
    from rlcompare.collect.attach.follow import Outcome

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def _finite(ctx: click.Context, param: click.Parameter, value: float) -> float:
    """A click callback: a range lets nan pass, and there is no end to wait for."""
    if not math.isfinite(value):
        raise click.BadParameter(f"{value} is no number of seconds", ctx, param)
    return value


_CONTENTS = ("npu", "cpu", "memory", "shapes", "module", "stack")
_LEVELS = ("level_none", "level0", "level1", "level2")
_MOST_STEPS = 2**31 - 1
_SHARED = ("output", "quiet")
"""Options of ``rlcompare run`` that ``--attach`` takes too."""
_OPTIONS = (
    click.option(
        "--attach",
        type=path_type(file_okay=False),
        metavar="CONFIG_DIR",
        help="Profile a job that runs already: the folder of its PROF_CONFIG_PATH or dynamic_profile.init.",
    ),
    click.option(
        "--active",
        type=click.IntRange(1, _MOST_STEPS),
        default=1,
        metavar="N",
        show_default=True,
        help="--attach: steps to record.",
    ),
    click.option(
        "--warmup",
        type=click.IntRange(0, _MOST_STEPS),
        default=1,
        show_default=True,
        metavar="N",
        help="--attach: steps that torch_npu warms up in, before them.",
    ),
    click.option(
        "--start-step",
        type=click.IntRange(0, _MOST_STEPS),
        metavar="N",
        help="--attach: begin when the job has made N steps; at once if not given. Step 0 cannot be had.",
    ),
    click.option(
        "--rank",
        "attach_ranks",
        callback=parse_numbers,
        metavar="NUMBERS",
        help="--attach: only these ranks, such as 0-7,63. torch_npu then leaves the parsing to rlcompare analyse.",
    ),
    click.option(
        "--level",
        type=click.Choice(_LEVELS),
        default="level0",
        show_default=True,
        help="--attach: torch_npu's profiler_level.",
    ),
    click.option("--contents", multiple=True, metavar="LIST", help=f"--attach: of {','.join(_CONTENTS)}."),
    click.option(
        "--no-analysis",
        is_flag=True,
        help="--attach: leave raw data for rlcompare analyse; else the job stands still while it parses.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(1),
        callback=_finite,
        default=1800.0,
        metavar="SECONDS",
        show_default=True,
        help="--attach: how long to wait for the profile.",
    ),
)


@dataclass(frozen=True)
class _Options:
    attach: Path | None
    active: int
    warmup: int
    start_step: int | None
    attach_ranks: tuple[int, ...] | None
    level: str
    contents: Sequence[str]
    no_analysis: bool
    timeout: float


def attach_options(function: Decorated) -> Decorated:
    """The options of ``--attach``; with it, the job is asked and the command itself is not called."""

    @wraps(function)
    def wrapped(*arguments: Any, **options: Any) -> Any:
        chosen = _Options(**{name: options.pop(name) for name in _Options.__dataclass_fields__})
        _check_given(chosen)
        if chosen.attach is None:
            return function(*arguments, **options)
        return _attach(chosen.attach, chosen, options["output"], options["quiet"])

    decorated: Any = wrapped
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


def _check_given(chosen: _Options) -> None:
    """Refuses options that have no meaning together."""
    context = click.get_current_context()
    ours = set(_Options.__dataclass_fields__)
    allowed = {*ours, *_SHARED} if chosen.attach else {p.name for p in context.command.params} - ours
    for parameter in sorted(context.command.params, key=lambda parameter: parameter.name != "launcher"):
        given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if parameter.name in allowed or not given or not parameter.expose_value:
            continue
        name = parameter.opts[0] if isinstance(parameter, click.Option) else "KEY=VALUE"
        if chosen.attach and parameter.name == "launcher":
            raise UsageError("--attach profiles a job that runs already, --launcher starts one: leave one of them out")
        if chosen.attach:
            raise UsageError(f"--attach asks a job that runs already, for which {name} has no meaning: leave it out")
        raise UsageError(f"{name} belongs to --attach CONFIG_DIR")


def _attach(folder: Path, chosen: _Options, output: Path | None, quiet: bool) -> None:
    from rlcompare.collect.attach.follow import attach
    from rlcompare.collect.attach.request import Request, check_path
    from rlcompare.collect.profiler.disk import check_room
    from rlcompare.text import safe_text

    if not folder.is_dir():
        raise InputError(folder, "there is no such folder", "Name the folder that the job was started with")
    contents = split_commas(chosen.contents)
    if unknown := [name for name in contents if name not in _CONTENTS]:
        raise UsageError(f"--contents {unknown[0]}: choose of {', '.join(_CONTENTS)}")
    if chosen.start_step == 0:
        raise UsageError(
            "--start-step 0: torch_npu looks for a request when a step ends, so step 0 cannot be had; 1 can"
        )
    target = (output or Path("runs") / f"attach-{datetime.now():%Y%m%d-%H%M%S}").resolve()
    check_path(folder.resolve(), "--attach")
    check_path(target, "-o")
    _check_empty(target)
    check_room(target, "npu", len(chosen.attach_ranks or (0,)))
    request = Request(
        folder=folder.resolve(),
        output=target,
        active=chosen.active,
        warmup=chosen.warmup,
        start_step=chosen.start_step,
        ranks=chosen.attach_ranks,
        level=chosen.level,
        contents=contents,
        analysis=not chosen.no_analysis,
    )

    def say(text: str) -> None:
        if not quiet:
            click.echo(f"rlcompare: {safe_text(text, 1000)}", err=True)

    _show(attach(request, chosen.timeout, say), request.folder, target)


def _check_empty(target: Path) -> None:
    """A profile is told by its being new there, and a side of a diff must not hold others."""
    try:
        taken = next(target.iterdir(), None)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"-o {target}: {error.strerror}; choose another folder") from error
    if taken is not None:
        raise UsageError(f"-o {target} is not empty: choose a new folder, so that this profile is alone in it")


def _show(outcome: Outcome, folder: Path, target: Path) -> None:
    """Says what there is and what to type next, or why something is missing.

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
        click.echo("rlcompare: the ranks began at different steps; --start-step gives all of them the same", err=True)
    if captures:
        for command in _next(target, all(capture.is_parsed for capture in captures)):
            click.echo(f"next        {command}")
    for line in outcome.quoted:
        click.echo(f"rlcompare: {safe_text(line, 400)}", err=True)
    if outcome.reason:
        raise InputError(folder, outcome.reason.problem, outcome.reason.remedy)


def _next(target: Path, is_parsed: bool) -> list[str]:
    import shlex

    place = shlex.quote(str(target))
    parse = [] if is_parsed else [f"rlcompare analyse {place}"]
    return [*parse, f"rlcompare diff -d {place} -bp BASELINE"]
