"""Makes docs/report.png, the picture in README.md, from the report of README's own example.

    python tools/report_picture.py

Needs Playwright for Python and a Chromium at /usr/bin/chromium (or ``$CHROMIUM``).
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from rlcompare.cli.main import run

TARGET = Path(__file__).resolve().parent.parent / "docs" / "report.png"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-lcd-text",  # grey edges of letters make a smaller file than coloured ones
)
WIDTH, HEIGHT = 1120, 700
COMMANDS = (
    ("sample", "-o", "baseline"),
    ("sample", "-o", "new", "--change", "slower:MatMulV2:1.3", "--change", "late:1:4ms"),
    ("gate", "-d", "new", "-bp", "baseline", "-o", "report", "--no-cache"),
)


def main() -> int:
    """Writes the picture."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with contextlib.redirect_stdout(io.StringIO()):
            for command in COMMANDS:
                run([*command, "-q"])
        _picture(Path(folder) / "report" / "report.html")
    sys.stdout.write(f"{TARGET} ({TARGET.stat().st_size / 1000:.0f} kB)\n")
    return 0


def _picture(page_path: Path) -> None:
    chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=chromium,
            args=list(FLAGS),
            viewport={"width": WIDTH, "height": HEIGHT},
            color_scheme="light",
        )
        page = context.new_page()
        page.goto(page_path.as_uri())
        page.screenshot(path=TARGET)
        context.close()


if __name__ == "__main__":
    sys.exit(main())
