"""Options that several commands take, and the values behind them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from rlcompare.app.arguments import ENGINES, problem_of_path
from rlcompare.language import LANGUAGES, VARIABLE, speaking

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

SIDES, SELECTION, READING, OUTPUT = "Sides", "Selection", "Reading", "Output"
ENGINE, CACHE, COMMON = "Engine", "Cache", "Common"
"""Headings of options that several commands take."""

_SPAN = re.compile(r"(\d{1,12})(?:-(\d{1,12}))?")
_MOST_NUMBERS = 1_000_000


class Option(click.Option):
    """An option with the heading under which the help lists it."""

    def __init__(self, *args: Any, section: str = "Options", **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.section = section


def option(*names: str, section: str = "Options", **attributes: Any) -> Callable[[Decorated], Decorated]:
    """``click.option`` with a heading."""
    return click.option(*names, cls=Option, section=section, **attributes)


class Command(click.Command):
    """A command whose help lists its options under their headings, the common ones last."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "section", COMMON), []).append(record)
        for section in sorted(sections, key=lambda name: name == COMMON):
            with formatter.section(section):
                formatter.write_dl(sections[section])


class _PathType(click.Path):
    """Paths of type ``Path``. An empty one is refused, since ``Path`` would take it for the working folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        problem = problem_of_path(os.fspath(value))
        if problem:
            self.fail(problem, param, ctx)
        return super().convert(value, param, ctx)


def path_type(*, file_okay: bool = True, dir_okay: bool = True) -> click.Path:
    """The type of an option or argument that is a path."""
    return _PathType(path_type=Path, file_okay=file_okay, dir_okay=dir_okay)


def parse_numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """A click callback: whole numbers as ``7``, ``0-7`` or ``0-7,63``; gives a sorted tuple."""
    if value is None:
        return None
    numbers: set[int] = set()
    for part in value.split(","):
        match = _SPAN.fullmatch(part.strip())
        first, last = (int(match.group(1)), int(match.group(2) or match.group(1))) if match else (1, 0)
        if last < first or last - first + len(numbers) >= _MOST_NUMBERS:
            raise click.BadParameter(f"{value!r} is not a list of numbers such as 3, 0-7 or 0-7,63", ctx, param)
        numbers.update(range(first, last + 1))
    return tuple(sorted(numbers))


def side_options(function: Decorated) -> Decorated:
    """``-d`` and ``-bp``, as ``new`` and ``baseline``."""
    baseline = option(
        "-bp",
        "--baseline",
        "--benchmark_profiling_path",
        "baseline",
        multiple=True,
        metavar="[LABEL=]PATH",
        section=SIDES,
        help="The baseline: a profile, a folder of ranks or runs, a store, or the name of a baseline (NAME or @NAME). "
        "Repeat for several runs.",
    )
    new = option(
        "-d",
        "--new",
        "--profiling_path",
        "--profiling-path",
        "new",
        multiple=True,
        metavar="[LABEL=]PATH",
        section=SIDES,
        help="The new side, compared with the baseline. Repeat for several runs.",
    )
    return baseline(new(baselines_option(SIDES)(function)))


def baselines_option(section: str) -> Callable[[Decorated], Decorated]:
    """``--baselines``."""
    return option(
        "--baselines",
        "--store",
        "baselines",
        metavar="DIR|URL",
        section=section,
        help="Where baselines are kept.  [default: $RLCOMPARE_BASELINES, else baselines in [gate] of the policy, "
        "else .rlcompare/baselines in the git repository]",
    )


def _numbers_option(*options: str, name: str, text: str) -> Callable[[Decorated], Decorated]:
    return option(*options, name, callback=parse_numbers, metavar="NUMBERS", section=SELECTION, help=text)


def step_option(function: Decorated) -> Decorated:
    """``--step``, as ``steps``."""
    return _numbers_option("--step", name="steps", text="Only these steps: 3, 3-5 or 3,7.")(function)


def rank_option(function: Decorated) -> Decorated:
    """``--rank``, as ``ranks``."""
    return _numbers_option("--rank", name="ranks", text="Only these global ranks: 0-7,63.")(function)


def selection_options(function: Decorated) -> Decorated:
    """Which part of the sides is compared, and how folders are read."""
    decorators = [
        step_option,
        _numbers_option("--base-step", "--base_step", name="base_steps", text="Only these steps of the baseline."),
        _numbers_option("--new-step", "--comparison_step", name="new_steps", text="Only these steps of the new side."),
        rank_option,
        layout_option,
        prefer_option,
        option(
            "--varied",
            multiple=True,
            metavar="KEYS",
            section=SIDES,
            help="Settings that are meant to differ, such as cann,torch_npu: keys of the report's section env.",
        ),
    ]
    for decorator in reversed(decorators):
        function = decorator(function)
    return function


def layout_option(function: Decorated) -> Decorated:
    """``--layout``."""
    return option(
        "--layout",
        type=click.Choice(["ranks", "runs"]),
        section=READING,
        help="Whether the captures in a folder are ranks of one run, or separate runs.  [default: inferred]",
    )(function)


def prefer_option(function: Decorated) -> Decorated:
    """``--prefer``."""
    return option(
        "--prefer",
        type=click.Choice(["db", "text"]),
        default="db",
        show_default=True,
        section=READING,
        help="Which files to read if a profile has both a database and text files.",
    )(function)


def cache_options(function: Decorated) -> Decorated:
    """``--cache-dir`` and ``--no-cache``."""
    directory = option(
        "--cache-dir",
        type=path_type(file_okay=False),
        section=CACHE,
        help="Cache folder, or the URL of a cache that machines share.  "
        "[default: $RLCOMPARE_CACHE_DIR, else the user's cache folder]",
    )
    disabled = option("--no-cache", is_flag=True, section=CACHE, help="Read all inputs again and cache nothing.")
    return directory(disabled(function))


def engine_options(function: Decorated) -> Decorated:
    """``--engine`` and ``--ray-address``, as ``engine`` and ``ray_address``."""
    engine = option(
        "--engine",
        type=click.Choice(ENGINES),
        default="local",
        show_default=True,
        section=ENGINE,
        help="Where captures are read: on the cores of this machine, or on a Ray cluster.",
    )
    address = option(
        "--ray-address",
        metavar="ADDRESS",
        section=ENGINE,
        help="The Ray cluster, such as auto or ray://host:10001.  [default: a new one on this machine]",
    )
    return engine(address(function))


def _speak(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """A click callback: uses a language until the command ends."""
    if value is not None:
        ctx.with_resource(speaking(value))


def language_option(function: Decorated) -> Decorated:
    """``--lang``, which needs no argument of the command: it sets the language in use."""
    return option(
        "--lang",
        type=click.Choice(LANGUAGES),
        callback=_speak,
        expose_value=False,
        is_eager=True,
        section=OUTPUT,
        help=f"Language of the output.  [default: ${VARIABLE}, else English; for a page, that of the locale]",
    )(function)


def html_option(function: Decorated) -> Decorated:
    """``--html``, as ``page``: the command writes a page instead of its text."""
    return option(
        "--html",
        "page",
        type=path_type(dir_okay=False),
        metavar="FILE",
        section=OUTPUT,
        help="Write a page instead, one file with pictures; - for standard output.",
    )(function)


def common_options(function: Decorated) -> Decorated:
    """``--quiet`` and ``--debug``, which every command takes. main.py looks for ``--debug`` itself."""
    quiet = option("-q", "--quiet", is_flag=True, section=COMMON, help="No progress on standard error.")
    debug = option("--debug", is_flag=True, expose_value=False, section=COMMON, help="Show the traceback of an error.")
    return quiet(debug(function))
