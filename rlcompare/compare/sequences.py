"""Where calls of operators came or went: the sequences of operators of both sides, aligned (docs/design.md §5).

A typical step of a capture stands for its steps. A place is named only if the calls that came or went there
account for the whole change in the operator's calls, over all steps and ranks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from rlcompare.compare.alignment import Hunk, align, movable
from rlcompare.compare.operator_tree import END, MODULE, NOWHERE, OPERATOR, Entry, Instance, OperatorTree, class_of
from rlcompare.compare.records import AlignedPair, SequenceText
from rlcompare.compare.rollups import Rollups
from rlcompare.model.words import SIDES, SideName

MOST_PAIRS = 16
"""Most pairs of different sequences that are aligned: ranks of a pipeline have one for each stage."""

MOST_OF = 0.8
"""Part of an operator's calls that must have come or gone at one place for it to be named."""

SAME_CALLS = 0.01
"""How far the calls in the sequences may differ from the change in all calls, as a part of it."""


class Where(NamedTuple):
    """A place among operators and modules.

    Attributes:
        after: the operator or module that ran before; empty if that is the start, None if it is unknown or varies.
        inside: the operator or module that contains it; empty if there is none, or if it is unknown or varies.
        modules: the classes of the modules around it, from the outermost; as far as they do not vary.
    """

    after: str | None = None
    inside: str = ""
    modules: tuple[str, ...] = ()

    def wider(self) -> Iterator[tuple[int, Where]]:
        """The same place with less and less detail, each with a number that grows with what is left out."""
        if self.after is not None:
            yield 0, self
        if self.inside and self.inside not in self.modules[-1:]:
            yield 1, Where(None, self.inside, self.modules)
            yield 2, Where(None, self.inside)
        if self.after:
            yield 3, Where(self.after)
        for outer, module in enumerate(reversed(self.modules)):
            yield 4 + outer, Where(None, module, self.modules[: len(self.modules) - outer])


class Branch(NamedTuple):
    """An operator or module that came or went, with all that it calls.

    Attributes:
        name: of the operator, or the module's class.
        operators: the names of all operators in it, in order.
    """

    name: str
    operators: tuple[str, ...]
    where: Where


class Edit(NamedTuple):
    """Operators that went, and operators that came in their place.

    Attributes:
        times: how often per step and rank.
        instances: the modules around its places.
    """

    gone: tuple[Branch, ...]
    new: tuple[Branch, ...]
    times: float
    instances: frozenset[tuple[Instance, ...]] = frozenset()

    def branches(self, side: SideName) -> tuple[Branch, ...]:
        return self.gone if side == "baseline" else self.new


class _Calls(NamedTuple):
    """Calls of an operator that came or went: in which edit, in which branch of it, how many per step and rank."""

    edit: int
    branch: Branch
    calls: float


class Place(NamedTuple):
    """Where calls of an operator came or went.

    Attributes:
        name: the operator or module that came or went with them; the operator itself, or what calls it.
        times: how often per step and rank.
        part: the part of the operator's calls that came or went there.
        instances: the modules around it, for each time; of one class on each level.
    """

    name: str
    where: Where
    times: float
    part: float
    instances: frozenset[tuple[Instance, ...]]


class Exchange(NamedTuple):
    """Operators that came in the place of others, with their calls, and how often per step and rank."""

    gone: Mapping[str, int]
    new: Mapping[str, int]
    times: float

    def calls(self, operator: str) -> float:
        """The calls of an operator in all of them; negative if it went."""
        return self.times * (self.new.get(operator, 0) - self.gone.get(operator, 0))


@dataclass(frozen=True)
class Edits:
    """All differences between the sequences of two sides."""

    all: tuple[Edit, ...] = ()

    @cached_property
    def _by_name(self) -> Mapping[SideName, Mapping[str, Sequence[_Calls]]]:
        found: dict[SideName, dict[str, list[_Calls]]] = {side: defaultdict(list) for side in SIDES}
        for number, edit in enumerate(self.all):
            for side in SIDES:
                for branch in edit.branches(side):
                    for name, calls in Counter(branch.operators).items():
                        found[side][name].append(_Calls(number, branch, calls * edit.times))
        return found

    def calls(self, operator: str) -> float:
        """How many more calls an operator has in the sequences; 0 if calls of it both came and went."""
        gone, new = (self._by_name[side].get(operator, ()) for side in SIDES)
        return 0.0 if gone and new else sum(of.calls for of in new) - sum(of.calls for of in gone)

    def place(self, operator: str, calls: float) -> Place | None:
        """Where the calls that an operator has more or fewer came or went; None if that is not one place, or unknown.

        Args:
            calls: the change in calls per step and rank, over all steps.
        """
        found = self.calls(operator)
        if not found or abs(found - calls) > SAME_CALLS * abs(calls):
            return None
        held: dict[tuple[str, Where], float] = defaultdict(float)
        edits: dict[tuple[str, Where], dict[int, int]] = defaultdict(dict)
        for of in self._by_name["new" if calls > 0 else "baseline"][operator]:
            for left_out, where in of.branch.where.wider():
                held[of.branch.name, where] += of.calls
                edits[of.branch.name, where][of.edit] = left_out
        able = [key for key, part in held.items() if part >= MOST_OF * abs(found)]
        if not able:
            return None
        key = min(able, key=lambda key: (max(edits[key].values()), -held[key], str(key)))
        places = [self.all[number] for number in edits[key]]
        times = sum(edit.times for edit in places)
        return Place(*key, times, held[key] / abs(found), _around(places, key[1].modules))

    @cached_property
    def exchanges(self) -> Sequence[Exchange]:
        """Where operators came in the place of others."""
        found: dict[tuple[tuple[str, ...], tuple[str, ...]], float] = defaultdict(float)
        for edit in self.all:
            gone, new = (tuple(name for branch in edit.branches(side) for name in branch.operators) for side in SIDES)
            if gone and new:
                found[gone, new] += edit.times
        return [Exchange(Counter(gone), Counter(new), times) for (gone, new), times in found.items()]


def _around(edits: Iterable[Edit], classes: tuple[str, ...]) -> frozenset[tuple[Instance, ...]]:
    """The modules of these classes around places, as far inside as the classes go."""
    found = {modules[: len(classes)] for edit in edits for modules in edit.instances}
    return frozenset(modules for modules in found if tuple(module.name for module in modules) == classes)


def edits_of(rollups: Rollups) -> Edits:
    """The differences between the sequences of both sides."""
    pairs = rollups.rows(AlignedPair)
    return find_edits(pairs, rollups.rows(SequenceText)) if pairs else Edits()


def find_edits(pairs: Sequence[AlignedPair], texts: Iterable[SequenceText]) -> Edits:
    """The differences between the sequences of two sides, over all members; none of those with little in common.

    Args:
        pairs: the pairs of sequences that differ, with the part of the members that has each.
        texts: the sequences.
    """
    if not pairs or len(pairs) > MOST_PAIRS:
        return Edits()
    trees = {text.hash: OperatorTree([*map(Entry, text.kinds, text.names, text.depths)], text.tokens) for text in texts}
    found: dict[tuple[tuple[Branch, ...], tuple[Branch, ...]], tuple[float, set[tuple[Instance, ...]]]] = {}
    for pair in pairs:
        for edit in _edits(trees[pair.baseline], trees[pair.new]):
            times, instances = found.get((edit.gone, edit.new), (0.0, set()))
            found[edit.gone, edit.new] = (times + pair.part, instances | edit.instances)
    return Edits(tuple(Edit(*key, times, frozenset(instances)) for key, (times, instances) in found.items()))


def _edits(old: OperatorTree, new: OperatorTree) -> Iterator[Edit]:
    """The differences of two sequences, one by one."""
    numbers: dict[tuple[str, str], int] = {}
    matched = [
        [numbered[token] for token in tree.tokens]
        for tree in (old, new)
        for numbered in [[numbers.setdefault(_same(entry), len(numbers)) for entry in tree.entries]]
    ]
    hunks = align(*matched) or ()
    trees: dict[SideName, OperatorTree] = {"baseline": old, "new": new}
    end = Hunk(len(old.tokens), len(old.tokens), len(new.tokens), len(new.tokens))
    before = 0
    for hunk, following in zip(hunks, [*hunks, end][1:], strict=True):
        if hunk.side is not None:
            tokens = matched[SIDES.index(hunk.side)]
            room = (hunk.old_start - before, following.old_start - hunk.old_end)
            hunk = _whole(hunk, trees[hunk.side], movable(hunk, tokens, room))
        before = hunk.old_end
        gone, came = (_branches(trees[side], hunk.span(side)) for side in SIDES)
        if gone or came:
            around = [_modules(trees[side], hunk.span(side)) for side in SIDES]
            yield Edit(gone, came, 1.0, frozenset().union(*around))


def _same(entry: Entry) -> tuple[str, str]:
    """What must be equal for tokens to match: not the depth, as all depths grow where one operator encloses others."""
    return entry.kind, class_of(entry.name) if entry.kind in (MODULE, END) else entry.name


def _whole(hunk: Hunk, tree: OperatorTree, room: tuple[int, int]) -> Hunk:
    """A hunk of one side moved so that it begins with the outermost of its operators."""
    assert hunk.side is not None
    start, _ = hunk.span(hunk.side)
    return hunk.moved(min(range(-room[0], room[1] + 1), key=lambda by: (tree.levels[start + by], by)))


def _roots(tree: OperatorTree, span: tuple[int, int]) -> list[int]:
    """The places of what came or went as a whole: operators and modules that are in no other one that did."""
    return [
        place for place in range(*span) if tree.parents[place] < span[0] and tree.at(place).kind in (OPERATOR, MODULE)
    ]  # fmt: skip


def _modules(tree: OperatorTree, span: tuple[int, int]) -> set[tuple[Instance, ...]]:
    """The modules around what came or went."""
    one_in_each = {tree.parents[root]: root for root in _roots(tree, span)}
    return {tree.modules(root) for root in one_in_each.values()}


def _branches(tree: OperatorTree, span: tuple[int, int]) -> tuple[Branch, ...]:
    roots = _roots(tree, span)
    found = []
    places: dict[int, Where] = {}  # by what contains them: they are all after the same one that did not come or go
    for root, following in zip(roots, [*roots, span[1]][1:], strict=True):
        inner = (tree.at(place) for place in range(root, following))
        operators = tuple(entry.name for entry in inner if entry.kind == OPERATOR)
        if tree.is_instant(root):
            found.append(Branch(_label(tree.at(root)), operators, Where()))
        elif operators:
            where = places.get(tree.parents[root]) or _where(tree, root, span[0])
            places[tree.parents[root]] = where
            found.append(Branch(_label(tree.at(root)), operators, where))
    return tuple(found)


def _where(tree: OperatorTree, place: int, start: int) -> Where:
    """The place of something that came or went, by what did not.

    Args:
        start: where that begins which came or went with it.
    """
    before = tree.before(place)
    while before is not None and before >= start:
        before = tree.before(before)
    after = None if before is None else "" if before == NOWHERE else _label(tree.at(before))
    inside = next(map(_label, tree.above(place)), "")
    return Where(after, inside, tuple(module.name for module in tree.modules(place)))


def _label(entry: Entry) -> str:
    return class_of(entry.name) if entry.kind in (MODULE, END) else entry.name
