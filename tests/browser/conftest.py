"""A real Chromium for the tests of this folder. Without one they are skipped, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rlcompare.model.diff import Diff
from rlcompare.report.write import write_report
from tests.unit import diff_examples

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Dialog, Page

CHROMIUM = Path("/usr/bin/chromium")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


class Visit:
    """A report in a browser, and all unwanted events there."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.console: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        page.on("console", lambda message: self.console.append(message.text))
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("dialog", self._dismissed)
        page.goto(path.as_uri())

    def _dismissed(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def shown(self, section: str, column: int = 0) -> list[str]:
        """The texts of a column of a table, in its visible rows."""
        script = "(rows, column) => rows.filter(r => r.checkVisibility()).map(r => r.cells[column].textContent.trim())"
        texts: list[str] = self.page.locator(f"#s-{section} tbody tr").evaluate_all(script, column)
        return texts


@pytest.fixture(scope="module")  # its event loop runs in this thread, which tests of other modules do not expect
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """A browser with a fresh profile."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"there is no Chromium at {CHROMIUM}")
    with sync_api.sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("chromium"), executable_path=CHROMIUM, args=list(_FLAGS)
        )
        yield context
        context.close()


@pytest.fixture
def visit(context: BrowserContext, tmp_path: Path) -> Iterator[Callable[[Diff], Visit]]:
    """Writes the report of a diff and opens it from its file."""
    pages = []

    def open_report(diff: Diff) -> Visit:
        page = context.new_page()
        pages.append(page)
        path = write_report(diff, tmp_path / f"out{len(pages)}", set(), diff_examples.verdicts())[0]
        return Visit(page, path)

    yield open_report
    for page in pages:
        page.close()
