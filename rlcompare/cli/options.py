"""Options that several commands take, and the values behind them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from rlcompare.app.arguments import problem_of_path

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_SPAN = re.compile(r"(\d{1,12})(?:-(\d{1,12}))?")
_MOST_NUMBERS = 1_000_000


class _PathType(click.Path):
    """Paths of type ``Path``. An empty one, which ``Path`` takes for the working folder, is refused."""

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
        if last < first or last - first >= _MOST_NUMBERS:
            raise click.BadParameter(f"{value!r} is not a list of numbers such as 3, 0-7 or 0-7,63", ctx, param)
        numbers.update(range(first, last + 1))
    return tuple(sorted(numbers))


def side_options(function: Decorated) -> Decorated:
    """``-d`` and ``-bp``, as ``new`` and ``baseline``."""
    baseline = click.option(
        "-bp",
        "--baseline",
        "--benchmark_profiling_path",
        "baseline",
        multiple=True,
        metavar="[LABEL=]PATH",
        help="The baseline: a profile, a folder of ranks or runs, or a store. Repeat it for several runs.",
    )
    new = click.option(
        "-d",
        "--new",
        "--profiling_path",
        "--profiling-path",
        "new",
        multiple=True,
        metavar="[LABEL=]PATH",
        help="What is compared with the baseline, likewise.",
    )
    return baseline(new(function))


def _numbers_option(*options: str, name: str, text: str) -> Callable[[Decorated], Decorated]:
    return click.option(*options, name, callback=parse_numbers, metavar="NUMBERS", help=text)


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
        click.option(
            "--varied",
            multiple=True,
            metavar="KEYS",
            help="What was meant to differ, such as cann,torch_npu; see the section env of a report.",
        ),
    ]
    for decorator in reversed(decorators):
        function = decorator(function)
    return function


def layout_option(function: Decorated) -> Decorated:
    """``--layout``."""
    return click.option(
        "--layout",
        type=click.Choice(["ranks", "runs"]),
        help="Whether the captures in a folder are ranks of one run or runs; inferred by default.",
    )(function)


def prefer_option(function: Decorated) -> Decorated:
    """``--prefer``."""
    return click.option(
        "--prefer",
        type=click.Choice(["db", "text"]),
        default="db",
        show_default=True,
        help="Which to read where a profile has a database and text files.",
    )(function)


def cache_options(function: Decorated) -> Decorated:
    """``--cache-dir`` and ``--no-cache``."""
    directory = click.option(
        "--cache-dir",
        type=path_type(file_okay=False),
        help="Where stores of raw profiles are kept.  [default: $RLCOMPARE_CACHE_DIR, else the user's cache folder]",
    )
    disabled = click.option("--no-cache", is_flag=True, help="Read everything anew, and keep nothing.")
    return directory(disabled(function))


def common_options(function: Decorated) -> Decorated:
    """``--quiet`` and ``--debug``, which every command takes. main.py looks for ``--debug`` itself."""
    quiet = click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
    debug = click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
    return quiet(debug(function))
