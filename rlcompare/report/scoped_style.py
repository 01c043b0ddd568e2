"""Our style sheets for another page than ours: a notebook's cell, or a picture that stands alone.

They are parsed as we write them: rules, and at-rules with rules inside; no strings with braces, no nesting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_VARIABLE = re.compile(r"(--[\w-]+)\s*:\s*([^;]+);")
_COMMA = re.compile(r",(?![^()]*\))")
_OF_THE_PAGE = ("print", "prefers-color-scheme", "data-theme")
_ROOT = ":root"


def scoped(css: str, scope: str) -> str:
    """The rules of a style sheet for what is inside ``scope``, a selector; in light, without those for print."""
    return "\n".join(_scoped(_COMMENT.sub("", css), scope))


def colours(css: str, dark: bool) -> Mapping[str, str]:
    """The variables of a style sheet: those of ``:root``, changed by those that hold if the system is dark."""
    found: dict[str, str] = {}
    for selector, body in _rules(_COMMENT.sub("", css)):
        if selector == _ROOT:
            found |= dict(_VARIABLE.findall(body))
        elif dark and "prefers-color-scheme: dark" in selector:
            found |= {name: value for _, inner in _rules(body) for name, value in _VARIABLE.findall(inner)}
    return found


def _scoped(css: str, scope: str) -> Iterator[str]:
    for selector, body in _rules(css):
        if any(word in selector for word in _OF_THE_PAGE):
            continue
        if selector.startswith("@"):
            yield f"{selector} {{\n{scoped(body, scope)}\n}}"
        else:
            selectors = (part.strip() for part in _COMMA.split(selector))
            inside = (scope if part == _ROOT else f"{scope} {part}" for part in selectors)
            yield f"{', '.join(inside)} {{{body}}}"


def _rules(css: str) -> Iterator[tuple[str, str]]:
    """Each rule's selector and body; those of at-rules hold further rules."""
    start = 0
    while (opening := css.find("{", start)) >= 0:
        depth, end = 1, opening + 1
        while depth and end < len(css):
            depth += {"{": 1, "}": -1}.get(css[end], 0)
            end += 1
        yield css[start:opening].strip(), css[opening + 1 : end - 1]
        start = end
