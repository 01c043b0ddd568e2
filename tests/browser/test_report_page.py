"""report.html in a real browser, opened from its file: it works, it is quiet, and hostile names do nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from rlcompare.model.diff import Diff
from tests.browser.conftest import Visit
from tests.unit import diff_examples

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Open = Callable[[Diff], Visit]


@pytest.mark.parametrize("make", [diff_examples.regression, diff_examples.empty, diff_examples.hostile])
def test_page_is_quiet_and_asks_for_nothing(visit: Open, make: Callable[[], Diff]) -> None:
    seen = visit(make())
    seen.page.wait_for_load_state("networkidle")
    assert seen.console == []
    assert seen.dialogs == []
    assert len(seen.requests) == 1 and seen.requests[0].startswith("file:")


def test_hostile_names_inject_nothing(visit: Open) -> None:
    seen = visit(diff_examples.hostile())
    for selector in ("img", "iframe", "a[href^='javascript']", "main script", "[onmouseover]", "td b", "td a"):
        assert seen.page.locator(selector).count() == 0, selector
    names = [name.split(" cause ")[0] for name in seen.shown("kernels")]
    assert "</script><script>alert('kernel')</script>" in names
    assert '" onmouseover="alert(2)' in names
    assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert seen.dialogs == []


def test_policy_stops_what_would_slip_through(visit: Open) -> None:
    """Even markup that got into the page could neither run nor fetch."""
    seen = visit(diff_examples.regression())
    seen.page.evaluate(
        """() => {
            const div = document.createElement('div');
            div.innerHTML = '<img src="https://example.invalid/x.png" onerror="window.hit = 1">';
            document.body.append(div);
            const script = document.createElement('script');
            script.textContent = 'window.hit = 2';
            document.body.append(script);
        }"""
    )
    seen.page.wait_for_timeout(200)
    assert seen.page.evaluate("window.hit") is None
    refused = [message for message in seen.console if "Content Security Policy" in message]
    assert len(refused) == len(seen.console) == 3  # The image, its attribute, the script.


def test_sorting_by_a_number_and_back(visit: Open) -> None:
    seen = visit(diff_examples.regression())
    original = seen.shown("kernels", 2)
    heading = seen.page.locator("#s-kernels thead th").nth(2)
    for state, expected in (("descending", True), ("ascending", False)):
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == state
        values = [float(text.replace(",", "")) for text in seen.shown("kernels", 2) if text != "—"]
        assert values == sorted(values, reverse=expected)
        assert seen.shown("kernels", 2)[-1] == "—"
    heading.locator("button").click()
    assert seen.shown("kernels", 2) == original


def test_sorting_goes_by_values_where_the_text_does_not_tell(visit: Open) -> None:
    """48.00 GiB before 56.00 GiB, and a change of ×2.19 above one of +15.0 %."""
    seen = visit(diff_examples.regression())
    seen.page.locator("#s-overall thead button", has_text="change").click()
    assert seen.shown("overall", 4)[0] == "+8.4 %"
    seen.page.locator("#s-kernels thead button", has_text="change").click()
    assert seen.shown("kernels", 4)[:2] == ["×2.19", "+15.0 %"]


def test_sorting_by_name_with_the_keyboard(visit: Open) -> None:
    seen = visit(diff_examples.regression())
    button = seen.page.locator("#s-phases thead button").first
    button.focus()
    seen.page.keyboard.press("Enter")
    names = seen.shown("phases")
    assert names == sorted(names, key=str.lower)


def test_filter_matches_names_and_keys(visit: Open) -> None:
    seen = visit(diff_examples.regression())
    box = seen.page.locator("#s-kernels input")
    box.fill("norm update_ACTOR")
    assert [text.split()[0] for text in seen.shown("kernels")] == ["RmsNormGrad", "RmsNormGradV1"]
    assert seen.page.locator("#s-kernels output").inner_text() == "2 of 7 rows"
    box.press("Escape")
    assert len(seen.shown("kernels")) == 7


def test_f_reaches_the_filter_and_j_the_next_section(visit: Open) -> None:
    seen = visit(diff_examples.regression())
    seen.page.locator("#s-kernels").scroll_into_view_if_needed()
    seen.page.evaluate("document.querySelector('#s-kernels').scrollIntoView()")
    seen.page.keyboard.press("f")
    assert seen.page.evaluate("document.activeElement.closest('section').id") == "s-kernels"
    seen.page.keyboard.type("j/")
    assert seen.page.locator("#s-kernels input").input_value() == "j/"
    seen.page.keyboard.press("Escape")
    seen.page.keyboard.press("Escape")
    seen.page.keyboard.press("j")
    assert abs(seen.page.evaluate("document.querySelector('#s-kernel_types').getBoundingClientRect().top")) < 60


def test_long_tables_are_folded_and_a_filter_sees_all(visit: Open) -> None:
    seen = visit(diff_examples.large(120))
    assert len(seen.shown("kernels")) == 20
    seen.page.locator("#s-kernels input").fill("aclnnKernel_119_")
    assert len(seen.shown("kernels")) == 1
    seen.page.locator("#s-kernels input").fill("")
    seen.page.locator("#s-kernels").get_by_role("button", name="Show all 120 rows").click()
    assert len(seen.shown("kernels")) == 120


def test_print_leaves_tables_out_unless_asked_for_and_then_shows_all_rows(visit: Open) -> None:
    seen = visit(diff_examples.large(120))
    seen.page.emulate_media(media="print")
    assert seen.shown("kernels") == []
    assert seen.page.locator("#s-summary").is_visible()
    assert 1 <= len(re.findall(rb"/Type /Page\b", seen.page.pdf())) <= 2
    seen.page.evaluate("window.print = () => { window.asked = document.documentElement.dataset.print }")
    seen.page.emulate_media(media="screen")
    seen.page.get_by_role("button", name="Print with all tables").click()
    assert seen.page.evaluate("window.asked") == "all"
    seen.page.emulate_media(media="print")
    assert len(seen.shown("kernels")) == 120
    folds = seen.page.locator("main details:not(.columns)")
    assert folds.count() > 0 and seen.page.locator("main details:not([open], .columns)").count() == 0
    seen.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert seen.page.locator("main details:not([open], .columns)").count() > 0


@pytest.mark.parametrize("width", [320, 390, 768, 1360])
def test_page_never_scrolls_sideways(visit: Open, width: int) -> None:
    seen = visit(diff_examples.regression())
    seen.page.set_viewport_size({"width": width, "height": 800})
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_columns_beyond_the_edge_are_announced_and_the_first_stays(visit: Open) -> None:
    seen = visit(diff_examples.regression())
    seen.page.set_viewport_size({"width": 390, "height": 800})
    box = seen.page.locator("#s-kernels .wide")
    hint = "box => getComputedStyle(box, '::before').content"
    box.scroll_into_view_if_needed()
    seen.page.locator("#s-kernels .wide.broad.hides:not(.moved)").wait_for()
    assert "more columns" in box.evaluate(hint)
    names = [seen.page.locator(f"#s-kernels {place}").first for place in ("thead th", "tbody th")]
    before = [name.evaluate("cell => cell.getBoundingClientRect().left") for name in names]
    box.locator(".scroll").evaluate("scroll => { scroll.scrollLeft = scroll.scrollWidth }")
    seen.page.locator("#s-kernels .wide.broad.moved:not(.hides)").wait_for()
    assert [name.evaluate("cell => cell.getBoundingClientRect().left") for name in names] == before
    seen.page.set_viewport_size({"width": 2400, "height": 800})
    seen.page.locator("#s-overall .wide").scroll_into_view_if_needed()
    seen.page.locator("#s-overall .wide:not(.broad)").wait_for()
    assert seen.page.locator("#s-overall .wide").evaluate(hint) == "none"


def test_lines_of_the_first_column_meet_those_of_the_others(visit: Open) -> None:
    """The sticky column is painted apart and snaps to whole pixels: so rows begin at whole ones of their table."""
    seen = visit(diff_examples.regression())
    offsets = seen.page.locator("#s-kernels tbody").evaluate(
        "body => [...body.rows].map(row => row.getBoundingClientRect().top - body.getBoundingClientRect().top)"
    )
    assert all(offset == round(offset) for offset in offsets)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(visit: Open, scheme: str) -> None:
    """Contrast of at least 4.5 to 1 (WCAG 2 AA) for text, greyed, worse and better numbers."""
    seen = visit(diff_examples.regression())
    seen.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for selector in ("body", "#s-phases tr.noise td.c", "#s-phases tr.worse td.c", ".legend .better", ".note", "nav a"):
        assert seen.page.locator(selector).first.evaluate(_CONTRAST) >= 4.5, selector


def test_worse_is_marked_without_colour(visit: Open) -> None:
    seen = visit(diff_examples.regression())
    mark = "cell => getComputedStyle(cell, '::after').content"
    assert "✗" in seen.page.locator("#s-phases tr.worse td.m").first.evaluate(mark)
    assert "✗" not in seen.page.locator("#s-phases tr.noise td.m").first.evaluate(mark)


_CONTRAST = """element => {
    const channels = text => text.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    let ground = element;
    while (ground && (channels(getComputedStyle(ground).backgroundColor)[3] ?? 1) === 0) ground = ground.parentElement;
    const [a, b] = [getComputedStyle(element).color, getComputedStyle(ground ?? document.body).backgroundColor]
        .map(channels).map(light);
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}"""
