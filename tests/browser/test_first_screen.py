"""The first screen at 1280 × 800: the answer, its causes and the waterfall are there without scrolling, and true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rlcompare.cli.main import run
from rlcompare.model.diff import Comparability, Diff, Finding
from rlcompare.model.words import Comparable, Severity
from rlcompare.report.document import read_document
from tests.browser.conftest import Visit
from tests.unit import diff_examples
from tests.unit.diff_examples import metric

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Open = Callable[[Diff], Visit]


def not_comparable() -> Diff:
    chip = Finding("chip", "Ascend910B3", "NVIDIA H100", Severity.SEVERE, "The chips differ: no time is comparable.")
    base = diff_examples.regression()
    found = (chip, *base.comparability.findings)
    return replace(base, comparability=Comparability(Comparable.NOT_COMPARABLE, found))


def many_notes() -> Diff:
    base = diff_examples.regression()
    kinds = (Severity.CAUTION, Severity.INFO)
    message = "Rank 7 of the new side has no operator_memory.csv, so that its memory is unknown."
    quality = tuple(Finding(f"missing{n}", None, f"rank {n}", kinds[n % 2], message) for n in range(80))
    differs = (*base.comparability.findings, *(replace(found, message=f"{found.key} differs.") for found in quality))
    return replace(base, quality=quality, comparability=Comparability(Comparable.CAUTION, differs))


def of_logs() -> Diff:
    """Two logs: seconds, timers as causes, no profile."""
    base = diff_examples.regression()
    cause = replace(base.causes[0], share=0.9, delta_ms=7200.0, section="phases", row="generate_sequences")
    sections = {name: replace(section, rows=()) for name, section in base.sections.items() if name != "phases"}
    assert base.unexplained
    return replace(
        base,
        headline="timing_s/step",
        overall=(metric("timing_s/step", 34.0, 42.0, "s"),),
        causes=(cause,),
        unexplained=replace(base.unexplained, share=0.1, delta_ms=800.0),
        sections={**sections, "phases": base.sections["phases"]},
    )


CASES = (diff_examples.regression, diff_examples.unstable, not_comparable, many_notes, of_logs)


@pytest.mark.parametrize("make", CASES)
def test_answer_causes_and_waterfall_are_seen_without_scrolling(visit: Open, make: Callable[[], Diff]) -> None:
    seen = visit(make())
    fits(seen, *(["#s-gate h2"] if make is diff_examples.regression else []))


@pytest.mark.parametrize("make", [diff_examples.regression, of_logs])
def test_bars_are_as_long_as_the_changes(visit: Open, make: Callable[[], Diff]) -> None:
    diff = make()
    measure(visit(diff), diff)


def test_a_pair_of_written_profiles(visit: Open, tmp_path: Path) -> None:
    """One rank is late and one kernel slower, as in README."""
    for side, changes in (("baseline", ()), ("new", ("--change", "slower:MatMulV2:1.3", "--change", "late:1:4ms"))):
        run(["sample", "-q", "-o", str(tmp_path / side), "--layers", "1", *changes])
    diff = compared(tmp_path / "baseline", tmp_path / "new", tmp_path)
    seen = visit(diff)
    fits(seen)
    measure(seen, diff)


def test_a_pair_of_real_logs(visit: Open, shared: Path, tmp_path: Path) -> None:
    logs = shared / "logs"
    diff = compared(logs / "grpo-300steps-a.log", logs / "grpo-300steps-b.log", tmp_path)
    seen = visit(diff)
    fits(seen)
    measure(seen, diff)


def compared(baseline: Path, new: Path, folder: Path) -> Diff:
    out = folder / "compared"
    run(["diff", "-q", "-d", str(new), "-bp", str(baseline), "-o", str(out), "--no-cache"])
    return read_document(out / "diff.json", "")


def fits(seen: Visit, *more: str) -> None:
    """Asserts that the answer, the causes and more are inside the window."""
    seen.page.set_viewport_size({"width": 1280, "height": 800})
    for selector in ("#s-summary h2", "#s-causes", "#c-waterfall .waterfall", *more):
        box = seen.page.locator(selector).bounding_box()
        assert box and box["y"] >= 0 and box["y"] + box["height"] <= 800, selector
        assert box["x"] >= 0 and box["x"] + box["width"] <= 1280, selector


def measure(seen: Visit, diff: Diff) -> None:
    """Asserts that the bars on the screen are as long as the causes of the diff."""
    seen.page.set_viewport_size({"width": 1280, "height": 800})
    boxes = seen.page.locator("#c-waterfall rect").evaluate_all(
        "found => found.map(rect => rect.getBoundingClientRect()).map(box => [box.left, box.right])"
    )
    headline = diff.metric(diff.headline)
    assert headline and headline.delta is not None and diff.unexplained
    changes = [*(cause.delta_ms for cause in diff.causes), diff.unexplained.delta_ms]
    factor = 1e3 if headline.unit == "s" else 1
    pixels = (boxes[-1][1] - boxes[0][1]) / (headline.delta * factor)
    assert pixels > 0 and len(boxes) == len(changes) + 2
    edge = boxes[0][1]
    for (left, right), change in zip(boxes[1:-1], changes, strict=True):
        begin, end = (left, right) if change > 0 else (right, left)
        assert begin == pytest.approx(edge, abs=0.2)
        assert end - begin == pytest.approx(change * pixels, abs=0.2)
        edge = end
    assert edge == pytest.approx(boxes[-1][1], abs=0.2)


def test_the_switch_changes_the_theme_and_so_does_the_attribute(visit: Open) -> None:
    seen = visit(diff_examples.regression())
    seen.page.emulate_media(color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = seen.page.evaluate(ground)
    button = seen.page.get_by_role("button", name="Theme: system")
    button.focus()
    seen.page.keyboard.press("Enter")
    assert seen.page.locator("button.theme").inner_text() == "Theme: light"
    assert seen.page.evaluate(ground) == light
    seen.page.keyboard.press("Enter")
    dark = seen.page.evaluate(ground)
    assert dark != light and seen.page.evaluate("document.documentElement.dataset.theme") == "dark"
    seen.page.evaluate("delete document.documentElement.dataset.theme")
    seen.page.get_by_role("button", name="Theme: system").wait_for()
    seen.page.emulate_media(color_scheme="dark")
    assert seen.page.evaluate(ground) == dark
    seen.page.locator("button.theme").click()
    assert seen.page.evaluate(ground) == light
