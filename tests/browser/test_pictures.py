"""Pictures as a browser draws them: bars and dots are measured against ``diff.json``."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rlcompare.model.diff import Diff, Series
from tests.browser.conftest import Visit
from tests.unit import diff_examples
from tests.unit.test_chart_account import with_rows
from tests.unit.test_chart_health import with_series
from tests.unit.test_chart_runs import BASELINE, NEW, with_runs

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Open = Callable[[Diff], Visit]

_RECTS = """(rects) => rects.map((rect) => {
    const box = rect.getBoundingClientRect(), of = rect.closest("svg[role=img]").getBoundingClientRect();
    return [rect.querySelector("title").textContent, (box.left - of.left) / of.width, box.width / of.width];
})"""
_DOTS = """(dots) => dots.map((dot) => {
    const box = dot.getBoundingClientRect(), of = dot.ownerSVGElement.getBoundingClientRect();
    return [dot.querySelector("title").textContent, (box.left + box.width / 2 - of.left) / of.width];
})"""


def _document(seen: Visit) -> dict:  # type: ignore[type-arg]
    folder = Path(seen.page.evaluate("decodeURI(location.pathname)")).parent
    found: dict = json.loads((folder / "diff.json").read_text(encoding="utf-8"))  # type: ignore[type-arg]
    return found


@pytest.mark.parametrize("width", [390, 1280])
def test_bars_are_as_long_as_their_numbers(visit: Open, width: int) -> None:
    phases = ("update_actor", "generate_sequences", "reward", None)
    rows = [
        diff_examples.row(f"op {place}", 40.0 + 13 * place, 55.0 + 7 * place, phase=phases[place % 4], kind=kind)
        for place, kind in enumerate(("compute", "wait", "transfer", "python", "queue", "copy", "compute", "unknown"))
    ]
    seen = visit(with_rows({"account": tuple(rows)}))
    seen.page.set_viewport_size({"width": width, "height": 800})
    found = seen.page.locator("#c-account .step > svg > rect").evaluate_all(_RECTS)
    account = _document(seen)["sections"]["account"]
    totals = {side: sum(row[side] for row in account) for side in ("baseline", "new")}
    kinds = {
        "compute": "computation",
        "wait": "waiting for a rank",
        "python": "host",
        "copy": "copies",
        "queue": "queued",
    }
    kinds |= {"unknown": "not recorded"}
    for side, total in totals.items():
        drawn = {
            title.rpartition(" ")[0].rpartition(" ")[0]: length for title, _, length in found if title.startswith(side)
        }
        expected: dict[str, float] = {}
        for row in account:
            phase = row["phase"] or "outside of phases"
            name = f"{side} · {phase} · {kinds.get(row['kind'], row['kind'])}"
            expected[name] = expected.get(name, 0.0) + row[side] / max(totals.values())
        assert drawn == pytest.approx(expected, abs=2e-3)
        assert sum(drawn.values()) == pytest.approx(total / max(totals.values()), abs=2e-3)
    shown = seen.page.locator("#c-account .lines .moved").all_inner_texts()
    assert all(text.startswith(("+", "-", "0")) for text in shown)


def test_dots_stand_at_their_numbers(visit: Open) -> None:
    seen = visit(with_runs(BASELINE, NEW))
    dots = dict(tuple(pair) for pair in seen.page.locator("#c-runs .strips .dot").evaluate_all(_DOTS)[6:])
    headline = _document(seen)["overall"][0]["samples"]["new"]
    places = [dots[f"run{run}: {value:.2f} s"] for run, value in enumerate(headline)]
    scale = (places[2] - places[4]) / (headline[2] - headline[4])
    assert scale > 0.01
    assert places == pytest.approx([places[4] + (value - headline[4]) * scale for value in headline], abs=1e-3)


@pytest.mark.parametrize("name", ["</script><script>alert(1)</script>", "\u202e" * 9, "x" * 1_000_000])
def test_hostile_names_stay_texts_and_inside_the_page(visit: Open, name: str) -> None:
    rows = (
        diff_examples.row("a", 10.0, 20.0, phase=name, kind=name),
        diff_examples.row("b", 30.0, 20.0, phase="update_actor", kind="compute"),
    )
    account = with_rows({"account": rows})
    runs = with_runs(BASELINE, NEW, new0=name)
    runs = replace(runs, sections=account.sections, overall=(*account.overall, *runs.overall))
    seen = visit(runs)
    seen.page.set_viewport_size({"width": 390, "height": 800})
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert (seen.console, seen.dialogs) == ([], [])


def test_lines_stand_at_their_values_and_the_pointer_reads_them(visit: Open) -> None:
    values = {"baseline": [4.0, 4.2, 3.8, 4.1], "new": [4.0, 3.0, 2.0, 1.0]}
    series = [Series("actor/entropy", side, 0, 4, (1, 2, 3, 4), tuple(found)) for side, found in values.items()]  # type: ignore[arg-type]
    seen = visit(with_series(*series, Series("timing_s/step", "new", 0, 4, (1, 2, 3, 4), (30.0, 31.0, 30.0, 31.0))))
    seen.page.set_viewport_size({"width": 1280, "height": 800})
    panel = seen.page.locator("#c-health .panel").nth(1)
    label, ends = panel.locator("svg.values text").evaluate_all(
        "(texts) => [texts.map((text) => text.textContent), texts.map((text) => text.y.baseVal[0].value)]"
    )
    scale = (ends[-1] - ends[0]) / (float(label[-1]) - float(label[0]))
    whole = panel.locator("svg.box").bounding_box()
    assert whole is not None
    for side, (high, low) in {side: (max(found), min(found)) for side, found in values.items()}.items():
        box = panel.locator(f"path.line.{side}").bounding_box()
        assert box is not None
        assert box["y"] - whole["y"] == pytest.approx(ends[0] + (high - float(label[0])) * scale, abs=1.5)
        assert box["height"] == pytest.approx(abs((high - low) * scale), abs=3)
    panel.locator("svg.box").hover(position={"x": float(whole["width"]) * 0.62, "y": 20.0})
    assert panel.locator("output").inner_text() == "step 3 · baseline 3.8 · new 2"
    assert seen.page.locator("#c-health .panel").first.locator("output").inner_text() == "step 3 · new 30"
    seen.page.mouse.move(0, 0)
    assert panel.locator("output").inner_text() == ""
    assert seen.console == []
