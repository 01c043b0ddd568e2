"""The pictures of ranks, collectives and memory in a browser: what is drawn is where the diff says, and it is fast."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace

import pytest

from rlcompare.model.diff import Diff
from tests.browser.conftest import Visit
from tests.unit.test_report_levels import GIB, MEMORY
from tests.unit.test_report_ranks import known, number, with_ranks
from tests.unit.test_report_scatter import kernel, sized, with_kernels

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Open = Callable[[Diff], Visit]

_BOXES = """nodes => nodes.map(node => {
    const box = node.getBoundingClientRect();
    const field = node.closest('svg.field, .rk-strip > svg').getBoundingClientRect();
    return [(box.left - field.left) / field.width, (box.right - field.left) / field.width,
            ((box.top + box.bottom) / 2 - field.top) / field.height];
})"""
"""Left, right and middle height of nodes, as fractions of their drawing."""


def example() -> Diff:
    """64 ranks, two of them slow; a collective that became slower; memory over time; kernels whose work is known."""
    ranks = with_ranks(64, slow=[7, 12]).pictures
    pair = (sized("baseline", "all_reduce", 20, 1, 2**20, 1.0), sized("new", "all_reduce", 20, 1, 2**20, 10.0))
    larger = (sized("baseline", "all_gather", 24, 1, 2**24, 1.0), sized("new", "all_gather", 24, 1, 2**24, 1.0))
    kernels = with_kernels(kernel("MatMulV2", (2.0, 4.0), 4e11, 2e9, 250.0))
    return replace(kernels, pictures=replace(ranks, collectives=(*pair, *larger), levels=MEMORY.pictures.levels))


def test_what_is_drawn_is_where_the_diff_says(visit: Open) -> None:
    diff = example()
    seen = visit(diff)
    page = seen.page

    cells = page.locator("#c-ranks table.heat tbody tr").nth(1).locator("td")
    slow = statistics.median(known(diff, "compute")["new"][rank][0] for rank in (7, 12))
    assert number(cells.nth(1).evaluate("cell => cell.firstChild.textContent")) == pytest.approx(slow, abs=0.051)
    colours = {level: page.locator(f"td.h-{level}").first.evaluate(_GROUND) for level in ("same", "more3")}
    assert cells.nth(1).evaluate(_GROUND) == colours["more3"] != colours["same"] == cells.nth(0).evaluate(_GROUND)

    odd = page.locator("#c-ranks .rk-strip.new").first.locator("path.h-more3")
    assert odd.count() == 1
    ((left, right, _),) = odd.evaluate_all(_BOXES)
    assert (left, right) == pytest.approx((7 / 64, 13 / 64), abs=0.005)

    dots = page.locator("#c-collectives .field .spot > :is(circle, rect)").evaluate_all(_BOXES)
    middles = [(left + right) / 2 for left, right, _ in dots]
    assert middles[0] == pytest.approx(middles[1], abs=0.003) and middles[2] > middles[0]
    height = page.locator("#c-collectives .field").evaluate("field => field.getBoundingClientRect().height")
    ticks = dict(page.locator("#c-collectives .y-axis text").evaluate_all(_TICKS))
    one, ten = ticks["1"] / height, ticks["10"] / height
    assert dots[1][2] - dots[0][2] == pytest.approx(one - ten, abs=0.01)  # a tenth of the bandwidth: one decade lower

    peak = page.locator("#c-memory .spot.new circle").evaluate_all(_BOXES)[0]
    assert (peak[0] + peak[1]) / 2 == pytest.approx(20 / 50, abs=0.003)
    line = page.locator("#c-memory .level-line.new.allocated").last.evaluate_all(_BOXES)[0]
    assert peak[2] < line[2]  # at its top
    assert max(MEMORY.pictures.levels[1].values) == 7 * GIB
    assert seen.console == [] and len(seen.requests) == 1
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


_GROUND = "cell => getComputedStyle(cell).backgroundColor"
_TICKS = "nodes => nodes.map(node => [node.textContent, node.y.baseVal[0].value])"


def test_a_thousand_ranks_are_laid_out_in_less_than_300_ms(visit: Open) -> None:
    page = visit(with_ranks(1024, slow=range(0, 1024, 8))).page
    took = page.evaluate(
        """() => {
            const place = document.querySelector('#c-ranks'), times = [];
            for (let turn = 0; turn < 5; turn++) {
                const copy = place.cloneNode(true), start = performance.now();
                place.replaceWith(copy);
                copy.getBoundingClientRect();
                times.push(performance.now() - start);
                copy.replaceWith(place);
            }
            return times;
        }"""
    )
    assert statistics.median(took) < 300
    assert page.locator("#c-ranks .rk-strip.new").first.locator("path.h-more3").count() == 1
