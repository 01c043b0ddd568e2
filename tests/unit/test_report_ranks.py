"""The heat map of ranks: its cells are those of the diff, and the folding keeps what it promises."""

from __future__ import annotations

import html
import random
import re
import statistics
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlcompare.model.diff import Diff
from rlcompare.model.pictures import PathTime, Pictures, RankTimes
from rlcompare.model.words import SIDES
from rlcompare.report.charts.likeness import TOLERANCES, folded, ranges
from rlcompare.report.charts.ranks import HeatMap, ranks_chart
from rlcompare.report.html import render_html
from rlcompare.report.view import build_view
from tests.unit import diff_examples

PHASES = ("update_actor", "generate_sequences", "reward", "save", "(outside)")


def with_ranks(count: int, slow: Sequence[int], seed: int = 1) -> Diff:
    """Ranks that take about as long as each other, but for some on the new side, for which the others wait."""
    draw = random.Random(seed)
    names = tuple(f"rank {rank}" for rank in range(count))
    made = []
    for side in SIDES:
        longer = [1.3 if side == "new" and rank in slow else 1.0 for rank in range(count)]
        own = [[draw.uniform(499, 501) * more, draw.uniform(299, 301), 40.0, 0.5, 2.0] for more in longer]
        most = max(row[0] for row in own)
        made.append(RankTimes(side, "compute", names, tuple(tuple(row) for row in own)))
        made.append(RankTimes(side, "wait", names, tuple((most - row[0], 0.0, 0.0, 0.0, 0.0) for row in own)))
    path = (PathTime("new", "rank 3", "update_actor", 650.0), PathTime("new", "rank 0", "reward", 40.0))
    return replace(diff_examples.regression(), pictures=Pictures(PHASES, tuple(made), path))


def content(diff: Diff) -> HeatMap:
    chart = ranks_chart(diff)
    assert chart is not None and isinstance(chart.content, HeatMap)
    return chart.content


def known(diff: Diff, what: str) -> dict[str, list[list[float]]]:
    """The times of a kind by side, rank and phase."""
    found = {times.side: times.values for times in diff.pictures.ranks if times.what == what}
    return {side: [[value for value in row if value is not None] for row in rows] for side, rows in found.items()}


def number(text: str) -> float:
    return float(text.replace(",", ""))


def test_cells_are_the_times_of_the_diff_and_rows_sum_to_the_step() -> None:
    diff = with_ranks(8, slow=[3])
    drawn = content(diff)
    assert drawn.columns == ("update_actor", "generate_sequences", "reward", "other phases", "waiting for ranks")
    compute, waits = known(diff, "compute"), known(diff, "wait")
    for rank, line in enumerate(drawn.lines):
        assert line.name == f"rank {rank}"
        for at, side in enumerate(SIDES):
            shown = [number(cell.text) for cell in line.cells[at::2]]
            own = compute[side][rank]
            expected = [*own[:3], own[3] + own[4], sum(waits[side][rank])]
            assert shown == pytest.approx(expected, abs=0.051)
            assert sum(shown) == pytest.approx(sum(own) + sum(waits[side][rank]), abs=0.26)


def test_colours_are_distances_from_the_baseline_s_median_rank() -> None:
    drawn = content(with_ranks(8, slow=[3]))
    slow, other = drawn.lines[3], drawn.lines[4]
    assert (slow.cells[0].level, slow.cells[0].delta) == ("same", "")
    assert slow.cells[1].level == "more3"  # 150 of some 840 ms
    assert number(slow.cells[1].delta) == pytest.approx(150, abs=2)
    assert [cell.level for cell in other.cells[:8]] == ["same"] * 8
    assert other.cells[9].level == "more3" and slow.cells[9].level == "same"  # the others wait for it
    assert (slow.cells[1].path, slow.cells[0].path, other.cells[1].path) == (True, False, False)
    chart = ranks_chart(with_ranks(8, slow=[3]))
    assert chart is not None and chart.finding.endswith("Starts collectives last: rank 3 (new).")
    assert slow.mark == "starts last in new" and slow.path == ("–", "650.0")


@pytest.mark.parametrize("count", [64, 1024])
def test_ranks_that_are_alike_become_one_row(count: int) -> None:
    diff = with_ranks(count, slow=[7, 12])
    chart = ranks_chart(diff)
    assert chart is not None
    drawn = content(diff)
    assert [line.name for line in drawn.lines] == [f"{count - 3:,} ranks alike", "rank 7, 12", "rank 3"]
    assert drawn.lines[0].members == f"rank 0–2, 4–6, 8–11, 13–{count - 1}"
    assert chart.finding.startswith(
        f"{count - 3:,} ranks are alike, to 2 % of the step. Different: rank 3, 7, 12. Farthest above"
    )
    values = known(diff, "compute")["new"]
    alike = [row[0] for rank, row in enumerate(values) if rank not in (3, 7, 12)]
    assert number(drawn.lines[0].cells[1].text) == pytest.approx(statistics.median(alike), abs=0.051)
    low, high = map(number, drawn.lines[0].cells[1].spread.split(" … "))
    assert (low, high) == pytest.approx((min(alike), max(alike)), abs=0.051)


def test_groups_of_one_size_are_told_by_their_sizes() -> None:
    """Two pipeline stages: neither is the one that differs."""
    chart = ranks_chart(with_ranks(64, slow=range(32, 64)))
    assert chart is not None
    assert chart.finding.startswith("Groups of ranks that are alike, to 2 % of the step: 32, 31, 1. Farthest above")


def test_the_strip_shows_every_rank_once_and_the_slow_ones_in_their_place() -> None:
    drawn = content(with_ranks(64, slow=[7, 12]))
    strip = next(strip for strip in drawn.strips if (strip.name, strip.side) == ("update_actor", "new"))
    taken: dict[int, str] = {}
    for level, path in strip.paths:
        for start, length in re.findall(r"M(\d+) 0h(\d+)v1h-\d+z", path):
            for rank in range(int(start), int(start) + int(length)):
                assert rank not in taken
                taken[rank] = level
    assert sorted(taken) == list(range(64))
    assert [rank for rank, level in taken.items() if level != "same"] == [7, 12]


def test_without_phases_the_columns_are_kinds_of_time_and_what_was_not_recorded_is_absent() -> None:
    names = ("rank 0", "rank 1")
    times = (
        RankTimes("new", "compute", names, ((10.0,), (None,))),
        RankTimes("new", "idle", names, ((5.0,), (None,))),
        RankTimes("new", "unknown", names, ((0.0,), (30.0,))),
        RankTimes("new", "wait", names, ((20.0,), (5.0,))),
    )
    diff = replace(diff_examples.regression(), pictures=Pictures(("(outside)",), times))
    drawn = content(diff)
    assert drawn.columns == ("compute", "device idle", "waiting for ranks", "not recorded")
    assert [cell.text for cell in drawn.lines[1].cells[1::2]] == ["—", "—", "5.00", "30.00"]
    assert {cell.text for line in drawn.lines for cell in line.cells[::2]} == {"—"}  # no baseline
    chart = ranks_chart(diff)
    assert chart is not None and "rank 1" not in chart.finding  # what is not known is not said to be slow
    for text in (chart.note, drawn.scale):
        assert "the median rank of the new side" in text and "of the baseline" not in text


def test_nothing_is_drawn_of_one_rank_or_of_none() -> None:
    alone = RankTimes("new", "compute", ("rank 0",), ((1.0,),))
    for pictures in (
        Pictures(),
        Pictures(("(outside)",), (alone,)),
        Pictures(("a",), (RankTimes("new", "wait", (), ()),)),
    ):
        assert ranks_chart(replace(diff_examples.regression(), pictures=pictures)) is None


def test_hostile_names_are_text() -> None:
    names = diff_examples.HOSTILE_NAMES
    times = (
        RankTimes("baseline", "compute", names, tuple((1.0 + at,) * len(names) for at in range(len(names)))),
        RankTimes("new", "wait", names, tuple((2.0,) * len(names) for _ in names)),
    )
    path = tuple(PathTime("new", name, name, 9.0) for name in names)
    diff = replace(diff_examples.hostile(), pictures=Pictures(names, times, path))
    page = render_html(build_view(diff))
    picture = page[page.index('id="c-ranks"') : page.index("</section>", page.index('id="c-ranks"'))]
    assert html.escape("<img src=x onerror=alert(1)>", quote=False) in picture
    assert "<img" not in picture and "\u202e" not in picture and "<script" not in picture
    assert len(picture) < 200_000


@given(
    st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100)), min_size=1, max_size=40),
    st.integers(1, 6),
)
def test_no_two_ranks_of_a_group_differ_by_more_than_the_tolerance(rows: list[tuple[float, float]], most: int) -> None:
    ranks = {f"rank {at}": row for at, row in enumerate(rows)}
    groups, tolerance = folded(ranks, [], 100.0, most)
    assert sorted(name for group in groups for name in group) == sorted(ranks)
    assert len(groups) <= most and tolerance in TOLERANCES
    for group in groups:
        for column in zip(*(ranks[name] for name in group), strict=True):
            assert max(column) - min(column) <= tolerance * 100.0


def test_ranks_of_another_kind_are_never_alike() -> None:
    groups, _ = folded({"rank 0": (1.0,), "critic rank 0": (1.0,), "rank 1": (1.0,), "rank 2": (None,)}, [], 1.0, 12)
    assert sorted(groups) == [("critic rank 0",), ("rank 0", "rank 1"), ("rank 2",)]


def test_ranges_of_names() -> None:
    assert ranges(["rank 0", "rank 1", "rank 2", "rank 5", "rank 6"]) == "rank 0–2, 5, 6"
    assert ranges(["replica 1 rank 3", "rank 3", "all"]) == "replica 1 rank 3; rank 3; all"


def test_many_late_ranks_are_groups_of_their_own() -> None:
    """A node of 16 late ranks does not use up all rows, which would leave all others in one group."""
    ranks = {f"rank {at}": (100.0 if at < 100 else 200.0 if at < 200 else 300.0,) for at in range(256)}
    groups, tolerance = folded(ranks, [f"rank {at}" for at in range(16)], 1000.0, 12)
    assert tolerance == TOLERANCES[0]
    assert sorted(map(len, groups)) == [16, 56, 84, 100]
