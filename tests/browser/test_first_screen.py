"""The first screen at 1280 × 800: the answer, its causes and the waterfall are there without scrolling, and true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from rlcompare.model.diff import Comparability, Diff, Finding
from rlcompare.model.words import Comparable, Severity
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


CASES = (diff_examples.regression, diff_examples.unstable, not_comparable, many_notes, of_logs, diff_examples.hostile)


@pytest.mark.parametrize("make", CASES)
def test_answer_causes_and_waterfall_are_seen_without_scrolling(visit: Open, make: Callable[[], Diff]) -> None:
    seen = visit(make())
    seen.page.set_viewport_size({"width": 1280, "height": 800})
    wanted = ["#s-summary h2", "#s-causes"]
    if make is not diff_examples.hostile:  # whose causes sum to nothing that was measured
        wanted.append("#c-waterfall .waterfall")
    for selector in wanted:
        box = seen.page.locator(selector).bounding_box()
        assert box and box["y"] >= 0 and box["y"] + box["height"] <= 800, selector
        assert box["x"] >= 0 and box["x"] + box["width"] <= 1280, selector
    assert seen.page.locator("#s-gate h2").bounding_box()["y"] < 800 or make is not diff_examples.regression  # type: ignore[index]


@pytest.mark.parametrize("make", [diff_examples.regression, of_logs])
def test_bars_are_as_long_as_the_changes(visit: Open, make: Callable[[], Diff]) -> None:
    """Measured on the screen, against the diff."""
    diff = make()
    seen = visit(diff)
    seen.page.set_viewport_size({"width": 1280, "height": 800})
    boxes = seen.page.locator(".fall rect").evaluate_all(
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
    labels = seen.page.locator(".fall .value").all_inner_texts()
    assert labels[0].startswith(f"{headline.baseline:,.2f}"[:4])


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
