"""Validates the content of a file against typed classes, and reports the path of the first mismatch.

msgspec does the checking. It is strict (``"5"`` is not a number), has no dependencies, takes 6 ms to import and has
wheels for every Python that we support. cattrs converts what it can by default and needs attrs. Import this module
where a file is read, not at the top: most commands read none.
"""

from __future__ import annotations

import difflib
import math
import re
import types
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

T = TypeVar("T")
Path = tuple[str | int, ...]

_NAMES = {str: "a string", int: "an integer", float: "a finite number", bool: "true or false", type(None): "null"}
_ANY_KEY = "..."


class MisfitError(ValueError):
    """A value does not fit.

    Attributes:
        path: its place: keys, and positions in lists.
        problem: what was expected there, as in ``should be a string``.
        value: the value there, or None.
    """

    def __init__(self, path: Path, problem: str, value: object = None) -> None:
        self.path = path
        self.problem = problem
        self.value = value
        super().__init__(f"{dotted(path)} {problem}".strip())


def fit(value: object, kind: type[T]) -> T:
    """A parsed document as an instance of a class: dataclasses ignore unknown keys, Structs may forbid them.

    Raises:
        MisfitError: it does not fit.
    """
    try:
        return msgspec.convert(value, kind)
    except UnicodeEncodeError:
        raise MisfitError((), "has a text with half a character (a lone surrogate)") from None
    except msgspec.ValidationError as error:
        raise _misfit(value, kind, str(error)) from None


def fit_most(value: object, kind: type[T], default: T) -> tuple[T, list[MisfitError]]:
    """Like ``fit``, but drops what does not fit, and reports it. For files that are not written by hand.

    Args:
        default: what it is where nothing fits.
    """
    misfits: list[MisfitError] = []
    while True:
        try:
            return fit(value, kind), misfits
        except MisfitError as error:
            misfits.append(error)
            if not error.path:
                return default, misfits
            # Each removal checks the whole anew: after some, the rest of that member goes as well.
            value = _without(value, error.path if len(misfits) < _MOST_REMOVED else error.path[:1])


_MOST_REMOVED = 20


def _without(value: Any, path: Path) -> Any:
    """A copy without the item at a path, or without its parent if the item is missing."""
    if _at(value, path[:-1]) is not None and path[-1] not in _keys(_at(value, path[:-1])):
        path = path[:-1]
    if not path:
        return None
    copied: Any = dict(value) if isinstance(value, Mapping) else list(value)
    if len(path) == 1:
        del copied[path[0]]
    else:
        copied[path[0]] = _without(copied[path[0]], path[1:])
    return copied


def _keys(value: Any) -> Iterable[str | int]:
    return value.keys() if isinstance(value, Mapping) else range(len(value)) if isinstance(value, list) else ()


def dotted(path: Path) -> str:
    """``overall[0].ratio``; what is long is cut."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part[:80]}" if text else part[:80]
    return text


_LONGEST_WORD = 100  # the search takes the square of it


def nearest(word: str, known: Iterable[str]) -> str:
    """A clause with the closest known word, else with all of them."""
    known = list(known)
    close = difflib.get_close_matches(word[:_LONGEST_WORD], known, n=1)
    return f"did you mean {close[0]}?" if close else f"choose from {', '.join(known)}"


_LARGEST = 1e150
"""Squares and sums of larger numbers overflow; rlcompare writes none."""


def not_finite(value: object, path: Path = ()) -> Path | None:
    """The place of the first number in a document that is NaN, infinite or too large."""
    found = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in found:
        if isinstance(item, (float, int)):
            if not -_LARGEST <= item <= _LARGEST:
                return (*path, key)
        elif isinstance(item, (dict, list)) and (place := not_finite(item, (*path, key))) is not None:
            return place
    return None


def _misfit(value: object, kind: Any, message: str) -> MisfitError:
    said, _, place = message.partition(" - at ")
    path = tuple(_named(value, kind, _path(place)))
    if match := re.fullmatch(r"Object missing required field `(.*)`", said):
        return MisfitError((*path, match[1]), "is missing")
    found = _at(value, path)
    if match := re.fullmatch(r"Object contains unknown field `(.*)`", said):
        known = get_type_hints(_type_at(kind, path))
        return MisfitError((*path, match[1]), f"is not known; {nearest(match[1], known)}")
    if place.startswith("`key`"):
        return MisfitError(path, f"has invalid keys ({said[0].lower()}{said[1:]})", found)
    if match := re.fullmatch(r"Expected `.*` (>=|<=) (\S+)", said):
        if not isinstance(found, float) or math.isfinite(found):
            word = "least" if match[1] == ">=" else "most"
            return MisfitError(path, f"should be at {word} {float(match[2]):g}", found)
    elif match := re.fullmatch(r"Expected `str` of length (>=|<=) (\d+)", said):
        problem = "should not be empty" if match[1] == ">=" else f"should have at most {match[2]} characters"
        return MisfitError(path, problem)
    elif not said.startswith(("Expected `", "Invalid enum value", "Number out of range")):
        return MisfitError(path, said, found)
    expected = _described(_type_at(kind, path))
    close = f"; {nearest(found, words)}" if (words := _words(_type_at(kind, path))) and isinstance(found, str) else ""
    return MisfitError(path, f"should be {expected}{close if 'mean' in close else ''}", found)


def _path(place: str) -> Iterator[str | int]:
    """The parts of msgspec's ``$.overall[0].samples[...]``; ``...`` stands for any key of a mapping."""
    inside = place.rpartition("`$")[2].rstrip("`")
    for key, index in re.findall(r"\.([^.\[]+)|\[([^\]]+)\]", inside):
        yield key or (index if index == _ANY_KEY else int(index))


def _named(value: object, kind: Any, path: Iterable[str | int]) -> Iterator[str | int]:
    """The path with the keys that msgspec leaves out: the first of each mapping that does not fit by itself."""
    for part in path:
        if part == _ANY_KEY and isinstance(value, Mapping):
            kind = _type_at(kind, (part,))
            part = next((key for key, item in value.items() if not _fits(item, kind)), part)
        else:
            kind = _type_at(kind, (part,))
        yield part
        value = _at(value, (part,))


def _fits(value: object, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _at(value: Any, path: Path) -> Any:
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _type_at(kind: Any, path: Iterable[str | int]) -> Any:
    for part in path:
        options = [option for option in _options(kind) if option is not type(None)]
        lists = [option for option in options if get_origin(option) in (list, tuple)]
        kind = next(iter(lists if isinstance(part, int) and lists else options), kind)
        if isinstance(part, int):
            kind = get_args(kind)[0]
        else:
            kind = get_args(kind)[1] if get_origin(kind) is not None else get_type_hints(kind)[part]
    return kind


def _options(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _words(kind: Any) -> list[str]:
    """The words of an enumeration."""
    for option in _options(kind):
        if get_origin(option) is Literal:
            return [str(word) for word in get_args(option)]
        if isinstance(option, type) and issubclass(option, Enum):
            return [str(word.value) for word in option]
    return []


def _described(kind: Any) -> str:
    if words := _words(kind):
        return f"one of {', '.join(words)}"
    options = [option for option in _options(kind) if option is not int or float not in _options(kind)]
    options = [option for option in options if option is not type(None)] or options
    names = [_name(option) for option in options]
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def _name(kind: Any) -> str:
    origin = get_origin(kind)
    if origin in (list, tuple):
        return "a list"
    return "an object" if origin is not None else _NAMES.get(kind, "an object")
