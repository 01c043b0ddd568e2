"""The tables of the page in a browser: one search, folded rows and their sums, the address, copying and saving."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from rlcompare.model.diff import Cause, Diff, Row, Section
from tests.browser.conftest import Visit
from tests.unit import diff_examples

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Open = Callable[[Diff], Visit]


def mixed(changed: int = 30, same: int = 470, beyond: int = 300) -> Diff:
    """Kernels of which some changed much and most did not, and more than a page shows."""
    rows: list[Row] = [
        diff_examples.row(f"Changed{n}", 40.0, 80.0 - n, phase="update_actor", op_type="MatMul") for n in range(changed)
    ]
    rows += [diff_examples.row(f"Same{n}", 3.0, 3.001, phase="adv", op_type="Add") for n in range(same)]
    rows += [diff_examples.row(f"Hidden{n}", 1.0, 1.0005, phase="adv", op_type="Add") for n in range(beyond)]
    base = diff_examples.regression()
    kernels = Section("kernels", "ms", ("op_type", "phase"), 1.0, "", tuple(rows))
    return replace(base, sections={**base.sections, "kernels": kernels})


def sums(seen: Visit, section: str) -> dict[str, list[float]]:
    """Baseline, new and change of each line below a table."""
    found: dict[str, list[float]] = seen.page.locator(f"#s-{section} tfoot tr").evaluate_all(
        "rows => Object.fromEntries(rows.map(row => [row.className,"
        " [1, 2, 3].map(i => parseFloat(row.cells[i].textContent.replaceAll(',', '')))]))"
    )
    return found


def goto(seen: Visit, fragment: str) -> None:
    """Opens the page anew at an address."""
    url = seen.page.url.split("#")[0]
    seen.page.goto("about:blank")
    seen.page.goto(url + fragment)


def test_rows_of_no_change_are_folded_with_their_sum(visit: Open) -> None:
    diff = mixed()
    seen = visit(diff)
    assert len(seen.shown("kernels")) == 20
    found = sums(seen, "kernels")
    assert set(found) == {"changed", "same", "beyond", "all"}
    for column, key in enumerate(("baseline", "new", "delta")):
        expected = math.fsum(float(str(row[key])) for row in diff.sections["kernels"].rows)
        assert found["all"][column] == pytest.approx(expected, abs=0.005)
        parts = sum(found[part][column] for part in ("changed", "same", "beyond"))
        assert parts == pytest.approx(found["all"][column], abs=0.02)
    seen.page.locator("#s-kernels").get_by_role("button", name="Show 470 rows without notable change").click()
    assert len(seen.shown("kernels")) == 20 + 470
    seen.page.locator("#s-kernels").get_by_role("button", name="Show all 30 rows").click()
    assert len(seen.shown("kernels")) == 500


def test_filters_say_what_is_not_on_the_page(visit: Open) -> None:
    seen = visit(mixed(same=600, beyond=10))
    seen.page.locator("#s-kernels .tools input").fill("Changed7")
    assert seen.page.locator("#s-kernels output").inner_text() == "1 of 500 rows; 140 more are only in diff.json"


def test_one_search_finds_rows_in_all_tables_and_sections(visit: Open) -> None:
    seen = visit(diff_examples.regression())
    seen.page.keyboard.press("/")
    seen.page.keyboard.type("flashattention update_actor")
    names = [name.split()[0] for name in seen.shown("kernels")]
    assert names == ["FlashAttentionScoreGrad"]
    sections = seen.page.locator("main > section.data").evaluate_all(
        "all => all.filter(one => one.checkVisibility()).map(one => one.id)"
    )
    assert sections == ["s-kernels"]
    assert seen.page.locator("#found").inner_text() == "1 row, 1 table"
    assert not seen.page.locator("nav a[href='#s-links']").is_visible()
    seen.page.keyboard.press("Escape")
    assert seen.page.locator("#s-links").is_visible()


def test_the_address_brings_back_what_was_chosen(visit: Open) -> None:
    seen = visit(diff_examples.regression())
    kernels = seen.page.locator("#s-kernels")
    kernels.locator(".tools input").fill("update_actor")
    kernels.locator("thead button", has_text="baseline").first.click()
    kernels.locator("details.columns summary").click()
    kernels.get_by_label("Δ ms").uncheck()
    seen.page.locator("button.theme").click()
    seen.page.locator("#c-waterfall details summary").click()
    kernels.locator("tbody th").first.click()
    order = seen.shown("kernels")
    seen.page.wait_for_timeout(400)
    link = seen.page.evaluate("location.hash")
    assert link.startswith("#s-kernels:2?")
    goto(seen, link)
    assert seen.shown("kernels") == order and order[0].startswith("MatMulV2")
    assert kernels.locator(".tools input").input_value() == "update_actor"
    assert kernels.locator("thead th[aria-sort=descending]").inner_text().startswith("baseline")
    assert not kernels.locator("thead th[data-k=delta]").is_visible()
    assert seen.page.evaluate("document.documentElement.dataset.theme") == "light"
    assert seen.page.locator("#c-waterfall details[open]").count() == 1
    assert kernels.locator("tr.target th").inner_text().startswith("MatMulV2")
    assert seen.console == []


def test_a_link_opens_the_row_that_is_folded_or_filtered_away(visit: Open) -> None:
    seen = visit(mixed())
    goto(seen, "#s-kernels:442?kernels.f=nothing")
    row = seen.page.locator("#s-kernels tr.target")
    assert row.inner_text().startswith("Same411") and row.is_visible()
    assert seen.page.evaluate("document.activeElement.classList.contains('target')")


def test_causes_and_their_rows_link_to_each_other(visit: Open) -> None:
    base = mixed()
    rows = (
        diff_examples.row("MatMul", 10.0, 20.0, kind="compute", phase="update_actor"),
        diff_examples.row("MatMul", 10.0, 12.0, kind="compute", phase="adv"),
        diff_examples.row("python", 5.0, 5.0, kind="python", phase="adv"),
    )
    account = Section("account", "ms", ("kind", "phase"), 1.0, "", rows)
    parts: tuple[Row, ...] = ({"kind": "compute", "phase": "adv", "name": "MatMul", "delta_ms": 2.0},)
    cause = Cause("operator_time", 1.0, 2.0, "MatMul in adv takes longer.", "account", "", parts)
    seen = visit(replace(base, causes=(cause,), sections={**base.sections, "account": account}))
    seen.page.locator("#cause-1 a").first.click()
    assert seen.page.locator("tr.target").evaluate("row => row.id") == "s-account:2"
    assert seen.page.locator("tr.caused").count() == 1
    assert seen.page.locator("tr.target a.of").get_attribute("href") == "#cause-1"


@pytest.mark.parametrize(
    "fragment",
    [
        "#</script><script>alert(1)</script>",
        "#s-kernels:1?kernels.s=constructor-&kernels.c=__proto__,name&theme=javascript:alert(1)&d=x.0,__proto__",
        "#s-kernels:99999999?q=" + quote("<img src=x onerror=alert(1)>"),
        "#s-kernels:-1?q=%E0%A4%A&kernels.f=" + quote('"><b>x</b>'),
        "#s-kernels:1?q=" + "x" * 100_000,
    ],
)
def test_hostile_addresses_do_nothing(visit: Open, fragment: str) -> None:
    seen = visit(diff_examples.regression())
    goto(seen, fragment)
    seen.page.wait_for_timeout(50)
    assert seen.console == [] and seen.dialogs == []
    assert seen.page.locator("main img, main script, main b b").count() == 0
    assert seen.page.locator("#s-kernels thead th").first.evaluate("cell => getComputedStyle(cell).display") != "none"


def test_csv_holds_the_rows_shown_and_runs_nothing(visit: Open, tmp_path: Path) -> None:
    seen = visit(diff_examples.hostile())
    with seen.page.expect_download() as download:
        seen.page.locator("#s-kernels button.csv").click()
    assert download.value.suggested_filename == "rlcompare-kernels.csv"
    download.value.save_as(tmp_path / "kernels.csv")
    text = (tmp_path / "kernels.csv").read_text(encoding="utf-8-sig")
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header[:4] == ["name", "keys", "baseline ms", "new ms"]
    assert "ratio" in header and "change" not in header
    names = [row[0] for row in rows]
    assert len(names) == len(diff_examples.HOSTILE_NAMES) and all(len(row) == len(header) for row in rows)
    assert {"'=cmd|' /C calc'!A0", "'+1+cmd", "'-2+3+cmd", "'@SUM(A1:A9)"} <= set(names)
    assert not [cell for row in rows for cell in row if cell[:1] in ("=", "@", "\t", "\r")]
    assert {row[2] for row in rows} == {"1.500"}


def test_csv_has_the_names_that_the_glossary_explains(visit: Open, tmp_path: Path) -> None:
    seen = visit(diff_examples.regression())
    with seen.page.expect_download() as download:
        seen.page.locator("#s-overall button.csv").click()
    download.value.save_as(tmp_path / "overall.csv")
    text = (tmp_path / "overall.csv").read_text(encoding="utf-8-sig")
    names = [row[0] for row in csv.reader(io.StringIO(text, newline=""))]
    assert all(names) and "time.step" in names


def test_a_link_shows_a_table_that_the_search_hides(visit: Open) -> None:
    seen = visit(diff_examples.regression())
    seen.page.locator("#s-kernels").evaluate("section => section.classList.add('unmatched')")
    assert not seen.page.locator("#s-kernels").is_visible()
    seen.page.evaluate("pageTables.tables.get('s-kernels').reveal(pageTables.tables.get('s-kernels').rows[0])")
    assert seen.page.locator("#s-kernels").is_visible()


def test_links_are_copied(visit: Open) -> None:
    seen = visit(diff_examples.regression())
    seen.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    seen.page.locator("#s-kernels .tools input").fill("Cast")
    seen.page.locator("#s-kernels button.link").click()
    seen.page.locator("#s-kernels button.link", has_text="Copied").wait_for()
    copied = seen.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("file:") and copied.endswith("#s-kernels?kernels.f=Cast")


def test_rows_are_chosen_with_the_keyboard(visit: Open) -> None:
    seen = visit(diff_examples.regression())
    seen.page.locator("#s-kernels .scroll").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):
        seen.page.keyboard.press(key)
    assert seen.page.locator("tr.target").count() == 1
    assert seen.page.evaluate("document.activeElement.cells[0].textContent").startswith("MatMulV2")


def test_columns_and_times_tell_what_they_mean(visit: Open) -> None:
    seen = visit(diff_examples.regression())
    for selector, words in (
        ("#s-kernel_types th[data-k=ratio] button", "relative to the baseline"),
        ("#s-overall th a", "Wall time"),
    ):
        term = seen.page.locator(selector).first
        described = term.evaluate("one => document.getElementById(one.getAttribute('aria-describedby')).textContent")
        assert words in described
        term.hover()
        seen.page.locator("#tip", has_text=words).wait_for()
        seen.page.keyboard.press("Escape")
        assert not seen.page.locator("#tip").is_visible()


def test_commands_are_copied(visit: Open) -> None:
    seen = visit(diff_examples.regression())
    seen.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copied = "navigator.clipboard.readText()"
    seen.page.locator("#e-1 summary").click()
    seen.page.locator("#e-1 button.copy").first.click()
    seen.page.locator("#e-1 button.copy", has_text="Copied").wait_for()
    assert seen.page.evaluate(copied).startswith("rlcompare explain 1 ")
    command = seen.page.locator("#s-overall button.command")
    assert not command.is_visible()
    seen.page.locator("#s-overall tbody td").first.click()
    command.click()
    seen.page.locator("#s-overall button.command", has_text="Copied").wait_for()
    assert seen.page.evaluate(copied).startswith("rlcompare explain time.step ")


def test_without_a_script_all_rows_are_there_and_links_to_them_work(visit: Open) -> None:
    seen = visit(mixed())
    session = seen.page.context.new_cdp_session(seen.page)
    session.send("Emulation.setScriptExecutionDisabled", {"value": True})
    seen.page.reload()
    rows = seen.page.locator("#s-kernels tbody tr")
    assert rows.count() == 500 and rows.last.is_visible()
    for control in (".tools", ".search", ".unfold", "button.copy", "button.theme", "#words"):
        assert not seen.page.locator(control).first.is_visible(), control
    seen.page.locator("#cause-2 a").first.click()
    assert seen.page.url.endswith("#s-ranks:4")
    assert seen.page.locator("tr:target").inner_text().startswith("rank 3")
