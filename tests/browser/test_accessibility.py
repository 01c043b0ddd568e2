"""axe-core finds nothing wrong with the page (``make axe``); it is skipped where axe-core is absent."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rlcompare.model.diff import Diff
from tests.browser.conftest import Visit
from tests.browser.test_rank_pictures import example
from tests.unit import diff_examples

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_FOLDER = Path(__file__).resolve().parent.parent.parent / "build" / "axe"
_UNDECIDED = ("color-contrast",)
"""What axe-core leaves to a person because of stacked elements; ``tests/unit/test_page_colours.py`` computes it."""


@pytest.mark.parametrize("make", [diff_examples.regression, diff_examples.unstable, diff_examples.empty, example])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(visit: Callable[[Diff], Visit], make: Callable[[], Diff], theme: str) -> None:
    axe = Path(os.environ.get("RLCOMPARE_AXE", _FOLDER)) / "axe.min.js"
    if not axe.is_file():
        pytest.skip("axe-core is not here (make axe)")
    page = visit(make()).page
    page.set_viewport_size({"width": 1280, "height": 800})
    page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true })")
    page.evaluate(axe.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations', 'incomplete'] })")
    assert [(item["id"], [node["html"] for node in item["nodes"]][:3]) for item in found["violations"]] == []
    assert [item["id"] for item in found["incomplete"] if item["id"] not in _UNDECIDED] == []
