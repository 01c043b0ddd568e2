"""The tree of operators and modules that a sequence of them stands for (table ``r_sequence``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

THREAD, OPERATOR, MODULE, END = "thread", "operator", "module", "end"

NOWHERE = -1
"""The place of the parent of what has none."""

MOST_AROUND = 64
"""Modules around a place that count. Real ones nest a dozen deep; places are compared with each number of them."""


class Entry(NamedTuple):
    """What occurs in a sequence: ``kind`` as above; ``depth`` of operators, as in table ``host_op``."""

    kind: str
    name: str
    depth: int | None


class Instance(NamedTuple):
    """A module below another: the ``number``-th, from 0, of ``of`` modules of its class there."""

    name: str
    number: int
    of: int


@dataclass(frozen=True)
class OperatorTree:
    """A sequence, with the operator or module that contains each token.

    Attributes:
        entries: what occurs in it.
        tokens: places in ``entries``.
    """

    entries: Sequence[Entry]
    tokens: Sequence[int]

    def at(self, place: int) -> Entry:
        return self.entries[self.tokens[place]]

    @property
    def parents(self) -> Sequence[int]:
        """For each token the place of the one that directly contains it; ``NOWHERE`` for the start of a thread."""
        return self._nested[0]

    @property
    def levels(self) -> Sequence[int]:
        """For each token in how many others it is."""
        return self._nested[1]

    @cached_property
    def _nested(self) -> tuple[list[int], list[int]]:
        parents, levels, stack = [], [], [NOWHERE]
        entries, tokens = self.entries, self.tokens
        kinds = [entry.kind for entry in entries]
        depths = [entry.depth or 0 for entry in entries]
        inside = self._depths_inside()
        for place, token in enumerate(tokens):
            kind, depth = kinds[token], depths[token]
            if kind == THREAD:
                stack = [NOWHERE]
            elif kind == END:
                self._leave(stack, entries[token].name)
            else:
                if kind == MODULE:
                    depth = inside[place]
                while depth and depths[tokens[stack[-1]]] >= depth:
                    stack.pop()
            parents.append(stack[-1])
            levels.append(len(stack))
            if kind in (THREAD, MODULE) or (kind == OPERATOR and depth):
                stack.append(place)
        return parents, levels

    def _depths_inside(self) -> list[int]:
        """By place, the depth of the first operator from there on; 0 if there is none, or its depth is unknown.

        Only modules may lie between.
        """
        found, depth = [0] * len(self.tokens), 0
        for place in range(len(self.tokens) - 1, -1, -1):
            entry = self.at(place)
            if entry.kind != MODULE:
                depth = (entry.depth or 0) if entry.kind == OPERATOR else 0
            found[place] = depth
        return found

    def _leave(self, stack: list[int], name: str) -> None:
        """Removes a module that ends, and what is in it."""
        for height in range(len(stack) - 1, 1, -1):
            entry = self.at(stack[height])
            if entry.kind == MODULE and entry.name == name:
                del stack[height:]
                return

    def above(self, place: int) -> Iterator[Entry]:
        """What contains a token, the innermost first."""
        place = self.parents[place]
        while place != NOWHERE and self.at(place).kind != THREAD:
            yield self.at(place)
            place = self.parents[place]

    def is_instant(self, place: int) -> bool:
        """Whether it is an operator without a length, of which it is not known what contains it."""
        return self.at(place).kind == OPERATOR and self.at(place).depth is None

    def before(self, place: int) -> int | None:
        """The place of what ran directly before a token in the same operator or module.

        ``NOWHERE`` if nothing did; None if that is unknown, as an operator without a length ran just before: what
        contained that one is not known. Of a module its end.
        """
        parent, other = self.parents[place], place - 1
        if other == parent:
            return NOWHERE
        if self.is_instant(other):
            return None
        while self.parents[other] > parent:
            other = self.parents[other]
        return other if self.parents[other] == parent and not self.is_instant(other) else None

    def modules(self, place: int) -> tuple[Instance, ...]:
        """The modules around a token, from the outermost; of many, the first ``MOST_AROUND``."""
        names = [entry.name for entry in self.above(place) if entry.kind == MODULE][::-1][:MOST_AROUND]
        return tuple(self._instance(outer, name) for outer, name in zip(["", *names], names, strict=False))

    def _instance(self, outer: str, name: str) -> Instance:
        alike = [*self._inner.get(outer, {}).get(class_of(name), {name: None})]
        return Instance(class_of(name), alike.index(name) if name in alike else 0, len(alike))

    @cached_property
    def _inner(self) -> Mapping[str, Mapping[str, Mapping[str, None]]]:
        """The modules directly inside each module (``""``: in none), by class, in the order of their first call."""
        found: dict[str, dict[str, dict[str, None]]] = {}
        are_modules = {token for token, entry in enumerate(self.entries) if entry.kind == MODULE}
        for place, token in enumerate(self.tokens):
            if token in are_modules:
                outer = next((entry.name for entry in self.above(place) if entry.kind == MODULE), "")
                name = self.entries[token].name
                found.setdefault(outer, {}).setdefault(class_of(name), {})[name] = None
        return found


def class_of(module: str) -> str:
    """``Linear`` of ``Linear_3``."""
    name, _, number = module.rpartition("_")
    return name if name and number.isdigit() else module
