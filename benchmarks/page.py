#!/usr/bin/env python3
"""Checks what is claimed about the page of a large comparison, in Chromium, against limits in the same run.

    python -m benchmarks.page

Writes the report of a diff with 100,000 kernels and as many rows of seven other long tables, opens it several times,
and searches in it. Prints medians. Ends with 1 if a limit is missed. Needs Playwright for Python and a Chromium; takes
about 20 seconds.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rlcompare.model.diff import Diff, Row
from rlcompare.report.write import write_report
from tests.browser.conftest import CHROMIUM
from tests.unit import diff_examples

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

KERNELS = 100_000
LONG = ("account", "kernels", "kernel_types", "operators", "modules", "stacks", "apis", "msprof")
REPEATS = 7
LIMITS = {
    "page, MB": 2.0,
    "first paint, s": 1.2,
    "search, ms": 150.0,
    "filter of a table, ms": 150.0,
    "sort, ms": 150.0,
}

_TYPE = """([selector, text]) => {
    const input = document.querySelector(selector);
    const started = performance.now();
    input.value = text;
    input.dispatchEvent(new Event("input"));
    document.body.getBoundingClientRect();
    return performance.now() - started;
}"""
_SORT = """() => {
    const started = performance.now();
    document.querySelector("#s-kernels thead button").click();
    document.body.getBoundingClientRect();
    return performance.now() - started;
}"""
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"


def main() -> int:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = write_report(large(), Path(folder) / "out", set())[0]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        found = {"page, MB": path.stat().st_size / 1e6, **measured(browser, path)}
        browser.close()
    for name, limit in LIMITS.items():
        print(f"{name:24} {found[name]:8.2f}   limit {limit:g}{'' if found[name] <= limit else '   MISSED'}")
    return int(any(found[name] > limit for name, limit in LIMITS.items()))


def large() -> Diff:
    """A diff with long tables, whose names and shapes are as long as real ones."""
    base = diff_examples.regression()
    rows = tuple(kernel(number) for number in range(KERNELS))
    sections = {name: replace(base.sections["kernels"], name=name, rows=rows) for name in LONG}
    return replace(base, sections={**base.sections, **sections})


def kernel(number: int) -> Row:
    ms = 1000.0 / (number + 1)
    return diff_examples.row(
        f"aclnnMatmulReduceScatter_MatMulV2_{number}",
        ms,
        ms * (1.02 + number % 7 / 100),
        op_type="MatMulV2",
        input_shapes=f"4096,{number};{number},18944",
        phase="update_actor",
        kind="compute",
        baseline_calls=number % 50 + 1,
        new_calls=number % 50 + 1,
        delta_calls_ms=0.0,
        delta_per_call_ms=ms * 0.02,
        baseline_max_ms=ms / 3,
        new_max_ms=ms / 2.9,
    )


def measured(browser: Browser, path: Path) -> dict[str, float]:
    """Medians over fresh pages."""
    tasks: dict[str, Callable[[Page], float]] = {
        "first paint, s": lambda page: float(page.evaluate(_PAINT)),
        "search, ms": lambda page: slowest(page, "#search", ("matmul", "matmulv2_17 update", "")),
        "filter of a table, ms": lambda page: slowest(
            page, "#s-kernels .tools input", ("4096", "scatter_MatMulV2_9", "")
        ),
        "sort, ms": lambda page: float(page.evaluate(_SORT)),
    }
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(REPEATS):
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(path.as_uri())
        page.wait_for_timeout(300)
        for name, task in tasks.items():
            times[name].append(task(page))
        page.close()
    return {name: statistics.median(found) for name, found in times.items()}


def slowest(page: Page, selector: str, texts: Iterable[str]) -> float:
    """The longest time from typing a text to the layout of what it finds, in ms."""
    return max(float(page.evaluate(_TYPE, [selector, text])) for text in texts)


if __name__ == "__main__":
    sys.exit(main())
