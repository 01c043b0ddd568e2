"""Alignment by a longest common subsequence, against the textbook's dynamic programming."""

from __future__ import annotations

import random
import time

from hypothesis import given
from hypothesis import strategies as st

from rlcompare.compare.alignment import EQUAL_RUN, LEAST_MATCHED, MOST_MOVED, Hunk, align, movable

LAYERS, OPERATORS = 40, 115


def longest(old: list[int], new: list[int]) -> int:
    """The length of a longest common subsequence."""
    row = [0] * (len(new) + 1)
    for token in old:
        diagonal = 0
        for place, other in enumerate(new, 1):
            above = row[place]
            row[place] = diagonal + 1 if token == other else max(above, row[place - 1])
            diagonal = above
    return row[-1]


def matched(old: list[int], new: list[int], hunks: list[Hunk]) -> int:
    """How many tokens match between the hunks; fails if others do not, or if the hunks are out of order."""
    i = j = found = 0
    for hunk in [*hunks, Hunk(len(old), len(old), len(new), len(new))]:
        assert i <= hunk.old_start <= hunk.old_end
        assert j <= hunk.new_start <= hunk.new_end
        assert old[i : hunk.old_start] == new[j : hunk.new_start]
        found += hunk.old_start - i
        i, j = hunk.old_end, hunk.new_end
    return found


tokens = st.lists(st.integers(0, 3), max_size=EQUAL_RUN - 1)


@given(tokens, tokens)
def test_short_sequences_are_aligned_as_well_as_possible(old: list[int], new: list[int]) -> None:
    hunks, best = align(old, new), longest(old, new)
    if hunks is None:
        assert best < LEAST_MATCHED * min(len(old), len(new))
    else:
        assert matched(old, new, hunks) == best
        assert all(hunk.old_end > hunk.old_start or hunk.new_end > hunk.new_start for hunk in hunks)


@given(st.integers(0, 10**6), st.integers(1, 20), st.integers(0, 30))
def test_edits_of_a_long_sequence_are_found(seed: int, names: int, edits: int) -> None:
    """No more may differ than was edited."""
    draw = random.Random(seed)
    old = [draw.randrange(names) for _ in range(600)]
    new = list(old)
    for _ in range(edits):
        place = draw.randrange(len(new))
        if draw.random() < 0.5:
            del new[place]
        else:
            new.insert(place, draw.randrange(names))
    hunks = align(old, new)
    assert hunks is not None
    assert len(old) + len(new) - 2 * matched(old, new, hunks) <= 2 * edits


@given(tokens, st.integers(0, 40))
def test_a_block_that_came_is_one_hunk(old: list[int], at: int) -> None:
    """Its tokens are also elsewhere, so that it could be torn apart: ``a b [c b]`` is ``a [b c] b``."""
    at = min(at, len(old))
    block = [7, *old[:3], 8]
    hunks = align(old, [*old[:at], *block, *old[at:]])
    assert hunks is not None
    assert [(hunk.old_end - hunk.old_start, hunk.new_end - hunk.new_start) for hunk in hunks] == [(0, len(block))]


def layers_with_one_more(layers: int) -> tuple[list[int], list[int]]:
    """Layers of 115 operators, and the same with a new operator in each."""
    draw = random.Random(1)
    layer = [draw.randrange(60) for _ in range(OPERATORS)]
    return layer * layers, [*layer[:38], 60, *layer[38:]] * layers


def test_an_operator_more_in_each_layer_is_that() -> None:
    old, new = layers_with_one_more(LAYERS)
    started = time.perf_counter()
    hunks = align(old, new)
    assert time.perf_counter() - started < 1
    assert hunks is not None
    assert [new[hunk.new_start : hunk.new_end] for hunk in hunks] == [[60]] * LAYERS
    assert matched(old, new, hunks) == len(old)


def test_layers_that_are_too_short_for_a_run_of_equal_tokens_are_aligned_too() -> None:
    layer = list(range(EQUAL_RUN // 2))
    old, new = layer * 3000, [*layer, 99] * 3000
    hunks = align(old, new)
    assert hunks is not None
    assert matched(old, new, hunks) == len(old)


def test_a_layer_that_went_is_one_hunk() -> None:
    old, _ = layers_with_one_more(3)
    assert align(old, old[OPERATORS:]) == [Hunk(2 * OPERATORS, 3 * OPERATORS, 2 * OPERATORS, 2 * OPERATORS)]


def test_sequences_with_little_in_common_are_not_aligned() -> None:
    draw = random.Random(2)
    old, new = ([draw.randrange(60) for _ in range(100_000)] for _ in range(2))
    started = time.perf_counter()
    assert align(old, new) is None
    assert time.perf_counter() - started < 5


def test_how_far_a_hunk_can_be_moved() -> None:
    """``x a b [a b] a c``: it can begin two tokens earlier, or one later."""
    new = [0, 1, 2, 1, 2, 1, 3]
    assert movable(Hunk(3, 3, 3, 5), new, (3, 2)) == (2, 1)
    assert movable(Hunk(3, 3, 3, 5), new, (1, 0)) == (1, 0)
    assert movable(Hunk(0, 0, 2000, 2001), [5] * 4001, (2000, 2000)) == (MOST_MOVED, MOST_MOVED)
