"""axe-core, which checks a page for accessibility (``make axe``)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

_FOLDER = Path(__file__).resolve().parent.parent.parent / "build" / "axe"
_UNDECIDED = ("color-contrast",)
"""What axe-core leaves to a person because of stacked elements; ``tests/unit/test_page_colours.py`` computes it."""


def axe_path() -> Path:
    """Where axe-core is, if it was fetched."""
    return Path(os.environ.get("RLCOMPARE_AXE", _FOLDER)) / "axe.min.js"


def assert_accessible(page: Page, theme: str) -> None:
    """Asserts that axe-core finds nothing wrong, and leaves nothing open, with all details unfolded."""
    page.set_viewport_size({"width": 1280, "height": 800})
    page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true })")
    page.evaluate(axe_path().read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations', 'incomplete'] })")
    assert [(item["id"], [node["html"] for node in item["nodes"]][:3]) for item in found["violations"]] == []
    assert [item["id"] for item in found["incomplete"] if item["id"] not in _UNDECIDED] == []
