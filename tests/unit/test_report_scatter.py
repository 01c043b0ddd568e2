"""The pictures with two logarithmic axes: where a dot stands follows from the numbers of the diff and the ticks."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from rlcompare.model.diff import Diff, Row, Section
from rlcompare.model.pictures import Pictures, SizedCollectives
from rlcompare.report.charts.chart import Chart
from rlcompare.report.charts.collectives import collectives_chart
from rlcompare.report.charts.roofline import roofline_chart
from rlcompare.report.charts.scatter import Axis, Scatter, log_axis
from rlcompare.report.html import render_html
from rlcompare.report.view import build_view
from tests.unit import diff_examples

_UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "": 1}


def drawn(chart: Chart | None) -> Scatter:
    assert chart is not None and isinstance(chart.content, Scatter)
    return chart.content


def expected(axis: Axis, value: float) -> float:
    """Where a value stands, by the labels of the first and the last tick."""
    (low, start), (high, end) = ((_number(tick.label), tick.at) for tick in (axis.ticks[0], axis.ticks[-1]))
    return start + (end - start) * math.log(value / low) / math.log(high / low)


def _number(label: str) -> float:
    found = re.fullmatch(r"([\d.,]+) ?(\w*)", label)
    assert found, label
    return float(found[1].replace(",", "")) * _UNITS[found[2]]


def sized(side: str, kind: str, power: int, calls: float, size: float, ms: float, **further: float) -> SizedCollectives:
    transit = further.get("transit")
    return SizedCollectives(side, kind, power, calls, calls * size, ms, transit)  # type: ignore[arg-type]


def with_collectives(*found: SizedCollectives) -> Diff:
    return replace(diff_examples.regression(), pictures=Pictures(collectives=found))


def test_collectives_stand_at_their_size_and_bandwidth() -> None:
    diff = with_collectives(
        sized("baseline", "all_reduce", 20, 4, 1.5 * 2**20, 2.0),
        sized("new", "all_reduce", 20, 4, 1.5 * 2**20, 4.0),
        sized("baseline", "all_gather", 10, 1, 1024, 1.0),
        sized("new", "all_gather", 10, 1, 1024, 1.0),
    )
    chart = collectives_chart(diff)
    scatter = drawn(chart)
    reduce_old, reduce_new = scatter.dots[0], scatter.dots[1]
    for dot, ms in ((reduce_old, 2.0), (reduce_new, 4.0)):
        assert dot.x == pytest.approx(expected(scatter.x, 1.5 * 2**20), abs=0.3)
        assert dot.y == pytest.approx(expected(scatter.y, 4 * 1.5 * 2**20 / ms / 1e6), abs=0.3)
    assert (reduce_old.side, reduce_new.side, reduce_new.shape) == ("baseline", "new", "circle")
    assert scatter.dots[2].shape == "square"
    (move,) = scatter.moves  # all_gather did not move
    assert (move.x1, move.y1, move.x2, move.y2) == (reduce_old.x, reduce_old.y, reduce_new.x, reduce_new.y)
    assert chart is not None
    assert chart.finding == "all_reduce of 1.50 MiB: 3.15 → 1.57 GB/s, 2.00 → 4.00 ms."
    assert "includes waiting" in chart.note


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ((300, 450), "all_reduce of 300 B → 450 B: 0.003 → 0.009 GB/s, 0.100 → 0.050 ms."),
        ((300, 300), "all_reduce of 300 B: 0.003 → 0.006 GB/s, 0.100 → 0.050 ms."),
        ((300, 650), "No collectives of about the same size are on both sides: no bandwidth is compared."),
    ],
)
def test_bandwidths_are_compared_at_about_the_same_size(sizes: tuple[int, int], said: str) -> None:
    """Also if a power of two is between the sizes."""
    times = {"baseline": 0.1, "new": 0.05}
    found = [
        sized(side, "all_reduce", int(math.log2(size)), 1, size, times[side])
        for side, size in zip(times, sizes, strict=True)
    ]
    chart = collectives_chart(with_collectives(*found))
    assert chart is not None and chart.finding == said
    chart = collectives_chart(with_collectives(*found, *(sized(side, "broadcast", 9, 1, 512, 9.0) for side in times)))
    assert chart is not None and chart.finding.startswith(
        "No change of bandwidth"
        if sizes[1] < 600
        else "Among the sizes on both sides, no change of bandwidth altered the total time"
    )


def test_time_is_that_in_which_data_moves_where_all_of_them_know_it() -> None:
    one = sized("new", "all_reduce", 20, 1, 2**20, 4.0, transit=1.0)
    assert "GB/s while data moves" in drawn(collectives_chart(with_collectives(one))).y.title
    chart = collectives_chart(with_collectives(one, sized("new", "broadcast", 20, 1, 2**20, 4.0)))
    assert drawn(chart).y.title == "GB/s, with waiting"
    assert chart is not None and {row[7] for row in chart.table.rows} == {"4.00 ms"}


def test_one_call_is_one() -> None:
    one = replace(sized("new", "all_reduce", 20, 1, 2**20, 4.0), calls=1.0)
    more = replace(sized("new", "broadcast", 20, 1, 2**20, 4.0), calls=1.5)
    texts = [dot.text for dot in drawn(collectives_chart(with_collectives(one, more))).dots]
    assert [re.findall(r"[\d.]+ calls?\b", text) for text in texts] == [["1 call"], ["1.5 calls"]]


def test_a_size_that_became_another_is_joined_if_it_is_the_only_one() -> None:
    old, new = sized("baseline", "broadcast", 3, 1, 10, 1.0), sized("new", "broadcast", 9, 1, 600, 1.0)
    assert len(drawn(collectives_chart(with_collectives(old, new))).moves) == 1
    other = sized("new", "broadcast", 12, 1, 5000, 1.0)
    assert drawn(collectives_chart(with_collectives(old, new, other))).moves == ()


def test_a_small_part_of_all_communication_is_not_named() -> None:
    small = [sized(side, "all_reduce", 2, 1, 4, ms) for side, ms in (("baseline", 0.01), ("new", 0.02))]
    large = [sized(side, "all_gather", 20, 9, 2**20, 90.0) for side in ("baseline", "new")]
    chart = collectives_chart(with_collectives(*small, *large))
    assert chart is not None
    assert chart.finding == "No change of bandwidth altered the total time of collectives by 5 %."


def test_what_has_no_size_or_no_time_is_not_drawn() -> None:
    without = SizedCollectives("new", "all_reduce", None, 3.0, None, 2.0, None)
    assert collectives_chart(with_collectives(without)) is None
    assert collectives_chart(with_collectives(sized("new", "all_reduce", 3, 1, 8, 0.0))) is None
    chart = collectives_chart(with_collectives(without, sized("new", "all_reduce", 3, 1, 8, 1.0)))
    assert chart is not None and "Calls of both sides without a size: 3." in chart.note


def kernel(name: str, ms: tuple[float, float], flop: float, moved: float, peak: float | None, **further: object) -> Row:
    """A row of the section efficiency: operations and bytes over all calls, peak in TFLOP/s."""
    row: dict[str, object] = dict(diff_examples.row(name, *ms, work="gemm", input_shapes="8,8", at_most=False))
    for side, time in zip(("baseline", "new"), ms, strict=True):
        rate = flop / time / 1e9
        row |= {f"{side}_tflops": rate, f"{side}_gb_per_s": moved / time / 1e6}
        row[f"{side}_peak_share"] = rate / peak if peak else None
    return {**row, **further}  # type: ignore[dict-item]


def with_kernels(*rows: Row) -> Diff:
    base = diff_examples.regression()
    return replace(base, sections={**base.sections, "efficiency": Section("efficiency", "ms", (), None, "", rows)})


def test_kernels_stand_at_their_operations_per_byte_and_second() -> None:
    slower = kernel("MatMulV2", (2.0, 4.0), 4e11, 2e9, 250.0)
    same = kernel("BatchMatMul", (1.0, 1.0), 1e10, 1e9, 250.0)
    chart = roofline_chart(with_kernels(same, slower))
    scatter = drawn(chart)
    for dot, rate in zip(scatter.dots[:2], (200.0, 100.0), strict=True):
        assert dot.x == pytest.approx(expected(scatter.x, 200.0), abs=0.3)
        assert dot.y == pytest.approx(expected(scatter.y, rate), abs=0.3)
    assert [(label.text, label.x, label.y) for label in scatter.labels] == [
        ("1", scatter.dots[1].x, scatter.dots[1].y),
        ("2", scatter.dots[3].x, scatter.dots[3].y),
    ]
    (move,) = scatter.moves
    assert move.x1 == move.x2 and move.y1 < move.y2  # the same shapes, and slower
    (level,) = scatter.levels
    assert (level.label, level.y) == ("peak 250 TFLOP/s", pytest.approx(expected(scatter.y, 250.0), abs=0.3))
    assert chart is not None
    assert chart.finding == "MatMulV2 8,8: 200 → 100 TFLOP/s, 80 % → 40 % of the peak, 2.00 → 4.00 ms."


def test_limits_and_unknown_work_are_left_out_and_counted() -> None:
    rows = [kernel(f"MatMul{at}", (1.0, 1.0 + at), 1e10, 1e9, None) for at in range(25)]
    rows.append(kernel("FlashAttention", (9.0, 9.0), 1e12, 1e9, 250.0, at_most=True))
    rows.append(kernel("Cast", (9.0, 9.0), 1e12, 1e9, None, baseline_tflops=None, new_tflops=None))
    chart = roofline_chart(with_kernels(*rows))
    assert chart is not None
    assert len(chart.table.rows) == 20 and drawn(chart).levels == ()
    assert "Not drawn: 5 smaller kernels." in chart.note
    assert "Left out: 1 kernel of which only an upper limit" in chart.note
    assert "Left out: 1 kernel without known operations or bytes." in chart.note
    assert roofline_chart(with_kernels(*rows[25:])) is None


def test_a_kernel_of_one_side_and_another_peak() -> None:
    new_only = kernel("MatMul", (1.0, 2.0), 1e11, 1e9, 300.0, baseline_tflops=None, baseline=None)
    chart = roofline_chart(with_kernels(new_only, kernel("Other", (1.0, 1.0), 1e11, 1e9, 250.0)))
    scatter = drawn(chart)
    assert [(level.label, level.above) for level in scatter.levels] == [
        ("peak 250 TFLOP/s", False),
        ("peak 300 TFLOP/s, new", True),
    ]
    assert scatter.named[0].endswith("17 % of the peak, 2.00 ms, only on the new side")


def test_numbers_of_dots_that_meet_share_a_label() -> None:
    rows = [
        kernel(f"MatMul{at}", (10.0 - at, 10.0 - at), (10.0 - at) * 1e10, (10.0 - at) * 1e8, None) for at in range(3)
    ]
    far = kernel("Add", (1.0, 1.0), 1e7, 1e8, None)
    assert [label.text for label in drawn(roofline_chart(with_kernels(*rows, far))).labels] == ["1, 2, 3", "4"]


def test_hostile_names_are_text() -> None:
    names = diff_examples.HOSTILE_NAMES
    diff = replace(
        with_kernels(*(kernel(name, (1.0, 2.0), 1e10, 1e9, None, input_shapes=name) for name in names)),
        pictures=Pictures(collectives=tuple(sized("new", name, 3, 1, 8, 1.0) for name in names)),
    )
    page = render_html(build_view(diff))
    for name in ("collectives", "roofline"):
        start = page.index(f'id="c-{name}"')
        picture = page[start : page.index("</section>", start)]
        assert "<img" not in picture and "\u202e" not in picture and "<script" not in picture
        assert len(picture) < 100_000


@pytest.mark.parametrize("size", [-1.0, 5e-324, 1e299])
def test_what_has_no_place_on_the_axes_is_left_out(size: float) -> None:
    usual = sized("new", "all_reduce", 20, 2, 2.0**20, 1.5)
    diff = replace(diff_examples.regression(), pictures=Pictures(collectives=(usual, sized("new", "x", 4, 2, size, 1))))
    chart = collectives_chart(diff)
    assert chart is not None and [row[0] for row in chart.table.rows] == ["all_reduce"]


@pytest.mark.parametrize("place", range(40))
def test_an_axis_of_one_value_has_a_tick_on_it(place: int) -> None:
    value = 10 ** (place / 40)
    for binary in (False, True):
        axis = log_axis("", [value], str, binary=binary)
        assert axis.ticks and all(0 <= tick.at <= 100 for tick in axis.ticks)
