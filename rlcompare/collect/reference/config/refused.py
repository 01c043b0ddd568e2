"""Keys that are not in the schema: keys of verl that `rlcompare run` does not support, and unknown keys."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Iterator
from functools import cache
from typing import Any

from rlcompare.collect.reference.config.not_offered import Off, Same, not_offered
from rlcompare.collect.reference.config.typed import leaves, shown

_SHOWN_KEYS = 4
"""An unknown block with more keys than this gets one message instead of one per key."""

_TARGET = "_target_"
"""Names the class that verl creates from a block; our classes are fixed."""


def drop_others(tree: dict[str, Any]) -> list[str]:
    """Removes keys that are not in the schema from a resolved tree, in place.

    Returns:
        The problems: one line for each key that is unknown, or that has an effect in verl but not here.
    """
    return list(_drop(tree, "", copy.deepcopy(tree)))


def nearest(key: str) -> str:
    """The valid key that a wrong one most likely means; else a text with its valid sibling keys."""
    parent, _, last = key.rpartition(".")
    beside = _children().get(parent)
    for candidates, cutoff in (
        ([other for other in _known() if other.endswith(f".{key}")], 0.0),
        ([f"{parent}.{name}".lstrip(".") for name in difflib.get_close_matches(last, beside or (), n=1)], 0.0),
        ([other for other in _known() if other.rpartition(".")[2] == last], 0.0),
        (_known(), 0.8),
        (
            [
                other
                for other in _known()
                if difflib.SequenceMatcher(None, other.rpartition(".")[2], last).ratio() > 0.75
            ],
            0.0,
        ),
    ):
        found = difflib.get_close_matches(key, candidates, n=1, cutoff=cutoff)
        if found:
            return f"the nearest is {found[0]}"
    while beside is None:
        parent = parent.rpartition(".")[0]
        beside = _children().get(parent)
    return f"{parent or 'the configuration'} has {', '.join(beside)}"


@cache
def _known() -> tuple[str, ...]:
    return tuple(key for key, _ in leaves())


@cache
def _children() -> dict[str, tuple[str, ...]]:
    """The names in each block, by the block's key. The root's key is empty."""
    names: dict[str, dict[str, None]] = {}
    for key in _known():
        while key:
            parent, _, last = key.rpartition(".")
            names.setdefault(parent, {})[last] = None
            key = parent
    return {parent: tuple(children) for parent, children in names.items()}


def _drop(block: dict[str, Any], prefix: str, tree: dict[str, Any]) -> Iterator[str]:
    """Removes keys that are not in the schema from a block; ``tree`` is the whole original tree."""
    for name in list(block):
        key = f"{prefix}{name}"
        if "." in str(name):
            block.pop(name)
            yield f"{key}: a key of a file has no dots; nest it as blocks, or give it on the command line"
        elif key in _children():
            if isinstance(block[name], dict):
                yield from _drop(block[name], f"{key}.", tree)
        elif key not in _known():
            value = block.pop(name)
            if name != _TARGET:
                yield from _judge(key, value, tree)


def _judge(key: str, value: object, tree: dict[str, Any]) -> Iterator[str]:
    """The problems with a key that is not in the schema, or with the keys below it."""
    below = [(leaf, inner) for leaf, inner in _leaves_of(key, value) if leaf.rpartition(".")[2] != _TARGET]
    if len(below) > _SHOWN_KEYS and all(not_offered(leaf) is None for leaf, _ in below):
        yield f"{key}: there is no such block; {nearest(key)}"
        return
    for leaf, inner in below:
        entry = not_offered(leaf)
        if entry is None:
            yield f"{leaf}: there is no such key; {nearest(leaf)}"
            continue
        reason, values = entry
        if any(isinstance(item, Off) and not _value_of(tree, item.switch) for item in values):
            continue
        idle = [_value_of(tree, item.key) if isinstance(item, Same) else item for item in values]
        idle = [item for item in idle if not isinstance(item, Off)]
        if not any(inner == item and isinstance(inner, bool) == isinstance(item, bool) for item in idle):
            only = f", only {' or '.join(shown(item) for item in idle)}" if idle else ""
            yield f"{leaf}: {shown(inner)} is not supported{only}: {reason}"


def _leaves_of(key: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves_of(f"{key}.{name}", inner)
    else:
        yield key, value


def _value_of(tree: dict[str, Any], key: str) -> object:
    value: Any = tree
    for name in key.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value
