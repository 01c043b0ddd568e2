"""Converts a plain tree of values to the dataclasses of ``schema.py``, and checks type, choices and range of each.

This does not use msgspec, unlike policies and diff.json: msgspec stops at the first invalid value, but the user of a
job that waits for its NPUs should see all of them at once.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import types
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from rlcompare.collect.reference.config.not_offered import NOT_OFFERED_VALUES
from rlcompare.collect.reference.config.schema import Config, Within

_GREATEST = 2**53
"""Largest integer. Sizes beyond the available memory fail when they are allocated."""


class WrongValueError(ValueError):
    """A value that its key does not accept; the message says what was expected."""


@cache
def fields(block: type) -> dict[str, Any]:
    """The keys of a dataclass and their types, including ``Annotated``."""
    return get_type_hints(block, include_extras=True)


def leaves(block: type = Config, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted key and type of every key that is not a block."""
    for name, hint in fields(block).items():
        key = f"{prefix}{name}"
        if dataclasses.is_dataclass(hint):
            yield from leaves(cast("type", hint), f"{key}.")
        else:
            yield key, hint


def build(tree: Mapping[str, Any], problems: list[str]) -> Config:
    """The configuration of a tree without unknown keys.

    Problems are added to ``problems``. A configuration that has any must not be used.
    """
    return cast("Config", _build(Config, tree, "", problems))


def _build(block: type, tree: object, prefix: str, problems: list[str]) -> object:
    if not isinstance(tree, Mapping):
        names = ", ".join(fields(block))
        problems.append(f"{prefix[:-1]}: expected a block with the keys {names}, not {shown(tree)}")
        return None
    values: dict[str, object] = {}
    for name, hint in fields(block).items():
        key = f"{prefix}{name}"
        if name not in tree:
            problems.append(f"{key}: it is missing")
        elif dataclasses.is_dataclass(hint):
            values[name] = _build(cast("type", hint), tree[name], f"{key}.", problems)
        else:
            try:
                values[name] = convert(hint, tree[name])
            except WrongValueError as error:
                reason = _reason(key, tree[name])
                problems.append(f"{key}: {error}" + (f"; {reason}" if reason else ""))
    return block(**values) if len(values) == len(fields(block)) else None


def _reason(key: str, value: object) -> str | None:
    return NOT_OFFERED_VALUES.get((key, value)) if isinstance(value, (str, int, float, types.NoneType)) else None


def convert(hint: Any, value: object) -> object:
    """Converts a value to its type: integers become floats if floats are expected, lists become tuples.

    Raises:
        WrongValueError: the value has another type, or is not one of the choices or outside of the range.
    """
    if is_optional(hint):
        if value is None:
            return None
        inner = next(part for part in get_args(hint) if part is not types.NoneType)
        return _convert_one(inner, value, f"{expected(inner)}, or null")
    return _convert_one(hint, value, expected(hint))


def _convert_one(hint: Any, value: object, wanted: str) -> object:
    origin = get_origin(hint)
    if origin is tuple:
        if not isinstance(value, list):
            raise WrongValueError(f"expected {wanted}, not {shown(value)}")
        return tuple(_convert_one(get_args(hint)[0], item, wanted) for item in value)
    if origin is Annotated:
        base, within = get_args(hint)
        number = _convert_one(base, value, wanted)
        if not cast("Within", within).holds(cast("float", number)):
            raise WrongValueError(f"expected {wanted}, not {shown(value)}")
        return number
    if origin is Literal:
        if value in get_args(hint):
            return value
        near = difflib.get_close_matches(str(value), get_args(hint), n=1)
        raise WrongValueError(f"expected {wanted}, not {shown(value)}" + (f"; nearest: {near[0]}" if near else ""))
    if not _is_plain(hint, value):
        raise WrongValueError(f"expected {wanted}, not {shown(value)}")
    if isinstance(value, int) and abs(value) > _GREATEST:
        raise WrongValueError("it is too large for any run")
    return hint(value)


def _is_plain(hint: type, value: object) -> bool:
    """Whether a value is valid for a bool, int, float or str."""
    if hint is bool:
        return isinstance(value, bool)
    if hint is str:
        # omegaconf reads ??? as "must be set"; an experiment may be named 1.
        return isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != "???"
    if isinstance(value, bool):
        return False
    if hint is int:
        return isinstance(value, int)
    return isinstance(value, (int, float)) and math.isfinite(value)


def is_optional(hint: Any) -> bool:
    """Whether null is allowed."""
    return get_origin(hint) in (Union, types.UnionType) and types.NoneType in get_args(hint)


def expected(hint: Any) -> str:
    """A type in words: "an integer of at least 1", "one of fsdp, fsdp2"."""
    origin = get_origin(hint)
    if is_optional(hint):
        return " or ".join("null" if part is types.NoneType else expected(part) for part in get_args(hint))
    if origin is tuple:
        item = get_args(hint)[0]
        if get_origin(item) is Literal:
            return f"a list out of {', '.join(get_args(item))}"
        return f"a list, each item {expected(item)}"
    if origin is Annotated:
        base, within = get_args(hint)
        return f"{expected(base)} {within}"
    if origin is Literal:
        choices = get_args(hint)
        return f"one of {', '.join(choices)}" if len(choices) > 1 else str(choices[0])
    return {bool: "true or false", int: "an integer", float: "a number", str: "a string"}[hint]


def shown(value: object) -> str:
    """A value as the user would write it in YAML."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return f"[{', '.join(shown(item) for item in value)}]"
    if isinstance(value, Mapping):
        return "a block"
    return str(value)
