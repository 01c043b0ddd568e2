"""Keys that are not in the schema: unknown ones, and verl's that `rlcompare run` does not act on."""

from __future__ import annotations

import difflib
from functools import cache
from typing import Any

from rlcompare.collect.config.typed import leaves


@cache
def _known() -> tuple[str, ...]:
    return tuple(key for key, _ in leaves())


def drop_known(tree: dict[str, Any]) -> list[str]:
    """Removes from a tree what is not in the schema, and returns what is wrong with it."""
    known = _known()
    problems: list[str] = []

    def walk(block: dict[str, Any], prefix: str) -> None:
        for name in list(block):
            key = f"{prefix}{name}"
            if key in known:
                continue
            if isinstance(block[name], dict) and any(other.startswith(f"{key}.") for other in known):
                walk(block[name], f"{key}.")
            elif not any(other.startswith(f"{key}.") for other in known):
                block.pop(name)
                hint = nearest(key)
                problems.append(f"{key}: there is no such key" + (f"; nearest: {hint}" if hint else ""))

    walk(tree, "")
    return problems


def nearest(key: str) -> str | None:
    """The valid key that a wrong one most likely means."""
    last = key.rsplit(".", 1)[-1]
    same = [other for other in _known() if other.rsplit(".", 1)[-1] == last]
    found = difflib.get_close_matches(key, same or _known(), n=1, cutoff=0.0 if same else 0.5)
    return found[0] if found else None
