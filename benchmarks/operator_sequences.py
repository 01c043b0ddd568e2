#!/usr/bin/env python3
"""Checks what is claimed about the alignment of operators, against limits in the same run.

    python benchmarks/operator_sequences.py

Makes sequences of layers of 115 operators in a tree, with one operator more in each layer of the new side, and aligns
them: 40 layers, and 2 million operators a side. Also 2 million operators a side that have nothing in common. Ends with
1 if a limit is missed, or if anything but the new operator is found. Takes about ten seconds.
"""

from __future__ import annotations

import random
import sys
import time

from rlcompare.compare.records import AlignedPair, SequenceText
from rlcompare.compare.sequences import find_edits

OPERATORS = 115
LIMITS = {40: 1.0, 17_391: 20.0}
"""Seconds by number of layers."""

LIMIT_UNLIKE = 5.0
NEW = "aten::clamp"


def sequence(number: int, layers: int, *, added: bool) -> SequenceText:
    """Layers in which operators call others, up to six deep."""
    draw = random.Random(1)
    layer, depth = [], 1
    for place in range(OPERATORS):
        layer.append((f"aten::op_{draw.randrange(60)}", depth))
        if added and place == OPERATORS // 3:
            layer.append((NEW, depth))
        depth = draw.randint(1, min(depth + 1, 6))
    return text(number, layer * layers)


def unlike(number: int, count: int) -> SequenceText:
    draw = random.Random(number)
    return text(number, [(f"aten::op_{draw.randrange(60)}", 1) for _ in range(count)])


def text(number: int, operators: list[tuple[str, int]]) -> SequenceText:
    places = {operator: place for place, operator in enumerate(dict.fromkeys(operators), 1)}
    names, depths = zip(*places, strict=True)
    kinds = ["thread", *["operator"] * len(names)]
    return SequenceText(number, kinds, ["", *names], [None, *depths], [0, *map(places.__getitem__, operators)])


def main() -> int:
    missed = 0
    for layers, limit in LIMITS.items():
        texts = [sequence(number, layers, added=number == 1) for number in range(2)]
        started = time.perf_counter()
        edits = find_edits([AlignedPair(0, 1, 1.0)], texts)
        seconds = time.perf_counter() - started
        calls = {branch.operators: edit.times for edit in edits.all for branch in (*edit.gone, *edit.new)}
        place = edits.place(NEW, layers)
        found = calls == {(NEW,): layers} and place is not None and place.part > 0.99
        missed += not found or seconds > limit
        said = "only" if found else "NOT ONLY"
        print(
            f"{layers * OPERATORS:>9,} operators a side: {seconds:.2f} s (limit {limit:g} s), {said} the new one found"
        )
    count = max(LIMITS) * OPERATORS
    texts = [unlike(number, count) for number in range(2)]
    started = time.perf_counter()
    is_empty = not find_edits([AlignedPair(0, 1, 1.0)], texts).all
    seconds = time.perf_counter() - started
    missed += not is_empty or seconds > LIMIT_UNLIKE
    said = "nothing" if is_empty else "SOMETHING"
    print(f"{count:>9,} unlike ones a side: {seconds:.2f} s (limit {LIMIT_UNLIKE:g} s), {said} said")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
