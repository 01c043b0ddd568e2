"""Converts arguments of a notebook to those of the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from rlcompare.app.arguments import problem_of_path
from rlcompare.errors import UsageError

PathLike = str | os.PathLike[str]
Numbers = int | Iterable[int] | None


def path_of(value: PathLike, name: str) -> Path:
    """Converts a value to a path.

    Raises:
        UsageError: the value is not a path.
    """
    try:
        text = os.fspath(value)
    except TypeError as error:
        raise UsageError(f"{name} should be a path, not {type(value).__name__}") from error
    if not isinstance(text, str):
        raise UsageError(f"{name} should be a string or a pathlib.Path, not {type(text).__name__}")
    problem = problem_of_path(text)
    if problem:
        raise UsageError(f"{name}: {problem}")
    return Path(text)


def numbers_of(value: Numbers, name: str) -> tuple[int, ...] | None:
    """Step or rank numbers, sorted; None: all.

    Raises:
        UsageError: a value is not a number, or the selection is empty.
    """
    if value is None:
        return None
    try:
        numbers = (value,) if isinstance(value, int) else tuple(value)
    except TypeError as error:
        raise UsageError(f"{name} should be a number or several numbers, not {type(value).__name__}") from error
    if not numbers or any(not isinstance(number, int) or isinstance(number, bool) or number < 0 for number in numbers):
        raise UsageError(f"{name} should be whole numbers, such as 3 or range(3, 6), not {numbers!r}")
    return tuple(sorted(set(numbers)))


def keys_of(value: str | Iterable[str], name: str) -> tuple[str, ...]:
    """Strings, such as keys of declared differences. A single string need not be in a list.

    Raises:
        UsageError: a value is not a string.
    """
    try:
        keys = (value,) if isinstance(value, str) else tuple(value)
    except TypeError as error:
        raise UsageError(f"{name} should be a string or several strings, not {type(value).__name__}") from error
    if not all(isinstance(key, str) for key in keys):
        raise UsageError(f"{name} should be strings, such as ['cann'], not {keys!r}")
    return keys


def choice_of(value: str | None, name: str, choices: tuple[str | None, ...]) -> None:
    """Checks that a value is one of the choices.

    Raises:
        UsageError: it is not.
    """
    if value not in choices:
        raise UsageError(f"{name}={value!r} is unknown: choose from {', '.join(map(repr, choices))}")
