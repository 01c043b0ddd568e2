"""The pages of one run and of a history in a browser, with names that attack a page."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rlcompare.history.levels import Level
from rlcompare.history.page import history_view
from rlcompare.history.records import Series
from rlcompare.report.html import page_of
from rlcompare.report.one_run import RunSection, run_view
from tests.browser.conftest import Visit
from tests.unit.diff_examples import HOSTILE_NAMES

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

pytestmark = pytest.mark.browser

_PHASES = ("phase", "wall_ms", "compute_ms", "exposed_comm_ms", "free_ms")


def _run_page() -> str:
    sections = [
        RunSection("overview", "Run", ("run", "ranks"), [("runs/<b>new</b>", 2)]),
        RunSection("path", "Path", ("kind", "subject", "total_ms"), []),
        RunSection(
            "account", "Account", ("kind", "subject", "total_ms"),
            [("compute" if place % 2 else "wait", name, 10.0 + place) for place, name in enumerate(HOSTILE_NAMES)],
        ),
        RunSection("phases", "Phases", _PHASES, [(name, 9.0, 3.0, 2.0, None) for name in HOSTILE_NAMES]),
        RunSection(
            "quality", "Quality", ("severity", "message", "captures"), [("warning", name, 2) for name in HOSTILE_NAMES]
        ),
    ]  # fmt: skip
    return page_of("one_run.html.j2", run_view(sections, "runs/new"))


def _history_page() -> str:
    plotted = [
        (
            Series("e", name, "s", list(range(1, 41)), values),
            range(1, 41),
            values,
            [Level(0, 20, 1.0), Level(20, 40, 2.0)],
        )
        for name in HOSTILE_NAMES[:2]
        for values in ([1.0] * 20 + [2.0] * 20,)
    ]
    return page_of("history.html.j2", history_view(plotted, []))


@pytest.fixture(params=[_run_page, _history_page], ids=["run", "history"])
def visit(request: pytest.FixtureRequest, context: BrowserContext, tmp_path: Path) -> Iterator[Visit]:
    path = tmp_path / "page.html"
    path.write_text(request.param(), encoding="utf-8", errors="replace")
    page = context.new_page()
    yield Visit(page, path)
    page.close()


def test_nothing_runs_nothing_is_loaded_and_nothing_overflows(visit: Visit) -> None:
    for width in (1280, 390):
        visit.page.set_viewport_size({"width": width, "height": 800})
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    assert (visit.console, visit.dialogs) == ([], [])
    assert [request for request in visit.requests if not request.startswith("file:")] == []
    assert visit.page.locator("main script, main img, main b").count() == 0


@pytest.mark.slow
def test_what_is_drawn_is_as_long_as_its_number(visit: Visit) -> None:
    """The bars of the phases have the widths of their parts; the points of the history their places."""
    page = visit.page
    if page.locator("#c-run-phases").count():
        bar = page.locator("#c-run-phases .meter").first.locator("rect")
        widths = [box["width"] for box in (part.bounding_box() for part in bar.all()) if box]
        assert [round(9 * width / sum(widths), 1) for width in widths] == [3.0, 2.0, 4.0]
    else:
        boxes = [box for box in (point.bounding_box() for point in page.locator("#plot-1 circle").all()) if box]
        steps = {round(right["x"] - left["x"], 1) for left, right in pairwise(boxes)}
        assert len(boxes) == 40 and max(steps) - min(steps) <= 0.2
        assert all(abs(box["width"] - box["height"]) < 0.1 for box in boxes), "points are round at any width"
