"""Which mark of a step counts, against the definition, pair by pair."""

from __future__ import annotations

from itertools import groupby
from random import Random

import duckdb
import pytest

from rlcompare import resources

ROUNDING_NS = 1000

Mark = tuple[int, int, int]
"""Step, start and end, in ns."""


def overlap(one: Mark, other: Mark) -> bool:
    return one[0] != other[0] and min(one[2], other[2]) - max(one[1], other[1]) > ROUNDING_NS


def merged(marks: list[Mark]) -> list[Mark]:
    """Marks of one step that overlap or touch are one."""
    found: list[Mark] = []
    for step, start, end in sorted(marks):
        if found and found[-1][0] == step and start <= found[-1][2]:
            found[-1] = (step, found[-1][1], max(end, found[-1][2]))
        else:
            found.append((step, start, end))
    return found


def expected(marks: list[Mark]) -> set[tuple[int, int, int, bool]]:
    """One mark of each step, and whether it is wrong."""
    pieces = merged(marks)

    def order(mark: Mark) -> tuple[bool, int, int]:
        return any(overlap(mark, other) for other in pieces), mark[1] - mark[2], mark[1]

    chosen = [min(of_step, key=order) for _, of_step in groupby(pieces, key=lambda mark: mark[0])]
    return {
        (*mark, any(overlap(mark, other) and other[2] - other[1] <= mark[2] - mark[1] for other in chosen))
        for mark in chosen
    }


@pytest.mark.parametrize("seed", range(4))
def test_one_mark_of_each_step_counts_unless_it_overlaps_a_shorter_one(seed: int) -> None:
    random = Random(seed)
    with duckdb.connect() as con:
        con.execute("CREATE TEMP TABLE stage_step (capture INTEGER, step BIGINT, start_ns BIGINT, end_ns BIGINT)")
        for _ in range(40):
            con.execute("DELETE FROM stage_step")
            marks: list[Mark] = []
            for step in range(random.randint(1, 9)):
                for _ in range(random.choice((1, 1, 2, 3))):
                    start = random.randint(0, 120) * 500
                    marks.append((step, start, start + random.randint(3, 40) * 500))
            con.executemany("INSERT INTO stage_step VALUES (0, ?, ?, ?)", marks)
            con.execute(resources.sql("normalize/step_mark"))
            found = con.execute("SELECT step, start_ns, end_ns, is_wrong FROM step_mark").fetchall()
            assert set(found) == expected(marks), marks
            assert len(found) == len({mark[0] for mark in marks})
            sound = [mark[:3] for mark in found if not mark[3]]
            assert not any(overlap(one, other) for one in sound for other in sound)
