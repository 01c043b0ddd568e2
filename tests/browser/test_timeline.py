"""The timeline as a browser draws it: lanes and tasks are measured against ``diff.json``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from rlcompare.model.diff import Diff
from tests.browser.conftest import Visit
from tests.browser.test_pictures import _document
from tests.unit import diff_examples

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Open = Callable[[Diff], Visit]

_LANES = """(lanes) => lanes.map((lane) => {
    const box = lane.getBoundingClientRect(), of = lane.closest("svg[role=img]").getBoundingClientRect();
    return [lane.getAttribute("class"), (box.left - of.left) / of.width, box.width / of.width, box.height];
})"""


@pytest.mark.parametrize("width", [390, 1280])
def test_lanes_of_a_timeline_are_as_long_as_their_sides(visit: Open, width: int) -> None:
    """Both sides on one scale: 100 and 125 ms. The last bucket with any computation ends at 70 and 62.5 ms."""
    seen = visit(replace(diff_examples.regression(), timeline=diff_examples.TIMELINE))
    seen.page.set_viewport_size({"width": width, "height": 800})
    backs = seen.page.locator("#c-timeline .tl-back").evaluate_all(_LANES)
    assert [round(back[2], 3) for back in backs] == [0.8, 0.8, 1.0, 1.0]
    tasks = seen.page.locator("#c-timeline rect:is(.tl-compute, .tl-comm)").evaluate_all(_LANES)
    timeline = _document(seen)["timeline"]
    expected = [
        (f"tl-{task['kind']}", max(task["start_ns"], 0) / 125e6, (task["ns"] + min(task["start_ns"], 0)) / 125e6)
        for side in ("baseline", "new")
        for task in timeline[side]["tasks"]
    ]
    assert [kind for kind, *_ in tasks] == [kind for kind, *_ in expected]
    for found, wanted in zip(tasks, expected, strict=True):
        assert found[1:3] == pytest.approx(wanted[1:], abs=2e-3)
    texts = seen.page.locator("#c-timeline svg[role=img] text").evaluate_all(
        "(texts) => texts.map((text) => [text.getBoundingClientRect().height, text.getBoundingClientRect().right])"
    )
    assert all(height >= 12 and right <= width for height, right in texts)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
