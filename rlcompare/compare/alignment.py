"""Aligns two sequences by a longest common subsequence: what went and what came, each at its place.

The search is Myers' ("An O(ND) Difference Algorithm and Its Variations", 1986). It is greedy in three ways, so that
millions of tokens take a second: where 32 tokens in a row are equal, it goes on from there; paths that fall far behind
the best one are left; and it gives up where the sequences have little in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rlcompare.model.words import SideName

EQUAL_RUN = 32
"""So many equal tokens in a row end the search for a better path to them."""

MOST_BEHIND = 2048
"""Tokens of both sides by which a path may be behind the best one. Blocks of up to a third of it are found."""

MOST_EDITS, LEAST_EQUAL = 1024, 2
"""After so many edits without a run of equal tokens, the search gives up unless there were more equal tokens than that,
as a multiple; else it goes on from the end of the best path."""

MOST_TRIED = 8_000_000
"""Points of paths after which the search gives up: a few seconds."""

MOST_MOVED = 512
"""Most tokens by which what came or went is moved to another place where the same tokens are equal."""

LEAST_MATCHED = 0.5
"""Part of the shorter sequence that must be matched."""

_BLOCK = 256


class Hunk(NamedTuple):
    """Tokens without a match, in one place: ``old[old_start:old_end]`` went, ``new[new_start:new_end]`` came."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int

    def span(self, side: SideName) -> tuple[int, int]:
        """The places of its first token on a side, and of the first one behind it."""
        return (self.old_start, self.old_end) if side == "baseline" else (self.new_start, self.new_end)

    @property
    def side(self) -> SideName | None:
        """The only side that has tokens; None if both have."""
        if self.new_start == self.new_end:
            return "baseline"
        return "new" if self.old_start == self.old_end else None

    def moved(self, by: int) -> Hunk:
        """The same, so many tokens later."""
        return Hunk(self.old_start + by, self.old_end + by, self.new_start + by, self.new_end + by)


class _UnlikeError(Exception):
    """The sequences have too little in common."""


def align(old: Sequence[int], new: Sequence[int]) -> list[Hunk] | None:
    """The parts in which two sequences differ, in order; None if they have too little in common."""
    hunks: list[Hunk] = []
    tried = 0
    i = j = 0
    try:
        while True:
            i, j = _skip_equal(old, new, i, j)
            if i == len(old) or j == len(new):
                break
            rows, (x, y) = _search(old, new, i, j, MOST_TRIED - tried)
            tried += sum(map(len, rows))
            hunks += _hunks_of(rows, x, y, i, j)
            i, j = i + x, j + y
    except _UnlikeError:
        return None
    if i < len(old) or j < len(new):
        hunks.append(Hunk(i, len(old), j, len(new)))
    hunks = _gathered(_joined(hunks), old, new)
    matched = len(old) - sum(hunk.old_end - hunk.old_start for hunk in hunks)
    return hunks if matched >= LEAST_MATCHED * min(len(old), len(new)) else None


def movable(hunk: Hunk, tokens: Sequence[int], room: tuple[int, int]) -> tuple[int, int]:
    """By how many tokens a hunk of one side can begin earlier, and by how many later, with as many tokens matched.

    Args:
        tokens: of its side.
        room: the tokens between it and the hunks beside it.
    """
    assert hunk.side is not None
    start, end = hunk.span(hunk.side)
    earlier = later = 0
    while earlier < min(room[0], MOST_MOVED) and tokens[start - earlier - 1] == tokens[end - earlier - 1]:
        earlier += 1
    while later < min(room[1], MOST_MOVED) and tokens[start + later] == tokens[end + later]:
        later += 1
    return earlier, later


def _skip_equal(old: Sequence[int], new: Sequence[int], i: int, j: int) -> tuple[int, int]:
    while i + _BLOCK <= len(old) and old[i : i + _BLOCK] == new[j : j + _BLOCK]:
        i, j = i + _BLOCK, j + _BLOCK
    while i < len(old) and j < len(new) and old[i] == new[j]:
        i, j = i + 1, j + 1
    return i, j


_Row = dict[int, int]
"""After some number of edits: for each diagonal (old − new tokens passed) the most old tokens passed."""


def _search(old: Sequence[int], new: Sequence[int], i: int, j: int, most: int) -> tuple[list[_Row], tuple[int, int]]:
    """Paths from a place where the sequences differ, and the end of the best one, both counted from there."""
    rows: list[_Row] = [{0: 0}]
    width, height, tried = len(old) - i, len(new) - j, 0
    low = high = 0
    while True:
        before, row, best = rows[-1], {}, -1
        best_end = (0, 0)
        for k in range(low - 1, high + 2, 2):
            came, went = before.get(k + 1, -1), before.get(k - 1, -2) + 1
            x = start = went if went > came else came
            y = x - k
            if x < 0 or y < 0 or x > width or y > height:
                continue
            while x < width and y < height and x - start < EQUAL_RUN and old[i + x] == new[j + y]:
                x, y = x + 1, y + 1
            row[k] = x
            if x + y > best:
                best, best_end = x + y, (x, y)
            if x - start >= EQUAL_RUN or (x == width and y == height):
                return [*rows, row], (x, y)
        tried += len(row)
        rows.append(row)
        if tried > most:
            raise _UnlikeError
        if len(rows) > MOST_EDITS:
            if (best - MOST_EDITS) / 2 < LEAST_EQUAL * MOST_EDITS:
                raise _UnlikeError
            return rows, best_end
        low, high = _not_behind(row, best)


def _not_behind(row: _Row, best: int) -> tuple[int, int]:
    """The outermost diagonals of a row that are not far behind the best one."""
    low, high = min(row), max(row)
    while 2 * row.get(low, -best) - low < best - MOST_BEHIND:
        low += 1
    while 2 * row.get(high, -best) - high < best - MOST_BEHIND:
        high -= 1
    return low, high


def _hunks_of(rows: Sequence[_Row], x: int, y: int, i: int, j: int) -> list[Hunk]:
    """The edits of the path that ends at (x, y) after all rows, one hunk each."""
    edits = []
    for before in reversed(rows[:-1]):
        k = x - y
        came, went = before.get(k + 1, -1), before.get(k - 1, -2) + 1
        if went > came:
            x, y = went - 1, went - k
            edits.append(Hunk(i + x, i + x + 1, j + y, j + y))
        else:
            x, y = came, came - k - 1
            edits.append(Hunk(i + x, i + x, j + y, j + y + 1))
    return edits[::-1]


def _joined(hunks: Iterable[Hunk]) -> list[Hunk]:
    """Hunks with nothing equal between them become one."""
    found: list[Hunk] = []
    for hunk in hunks:
        if found and found[-1].old_end == hunk.old_start and found[-1].new_end == hunk.new_start:
            found[-1] = Hunk(found[-1].old_start, hunk.old_end, found[-1].new_start, hunk.new_end)
        else:
            found.append(hunk)
    return found


def _gathered(hunks: Iterable[Hunk], old: Sequence[int], new: Sequence[int]) -> list[Hunk]:
    """The same with fewer hunks: one that can begin where the one before it ends is joined to it.

    What came may begin earlier where the token before it is also its last one: ``a b [c b]`` is ``a [b c] b``.
    """
    found: list[Hunk] = []
    for hunk in hunks:
        found.append(hunk)
        while len(found) > 1 and (both := _meeting(found[-2], found[-1], old, new)) is not None:
            found[-2:] = [both]
    return found


def _meeting(first: Hunk, second: Hunk, old: Sequence[int], new: Sequence[int]) -> Hunk | None:
    """Both as one, if they are of one side and the second can begin where the first ends."""
    between = second.old_start - first.old_end
    if between > MOST_MOVED or first.side is None or first.side != second.side:
        return None
    tokens, (start, end) = old if second.side == "baseline" else new, second.span(second.side)
    if tokens[start - between : start] != tokens[end - between : end]:
        return None
    if second.side == "baseline":
        return Hunk(first.old_start, second.old_end - between, first.new_start, first.new_end)
    return Hunk(first.old_start, first.old_end, first.new_start, second.new_end - between)
