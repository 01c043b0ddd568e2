"""Every cell of every table of a page in Chromium, against the diff.json beside it, by rules of our own."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rlcompare.model.diff import Diff
from tests.browser.conftest import Visit
from tests.browser.test_first_screen import compared
from tests.unit import diff_examples

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_READ = """() => [...document.querySelectorAll("section.data")].map(section => ({
  name: section.id.slice(2),
  keys: [...section.querySelectorAll("thead th")].map(th => th.dataset.k),
  units: [...section.querySelectorAll("thead th")].map(th => th.querySelector("small")?.textContent ?? ""),
  rows: [...section.querySelectorAll("tbody tr")].map(read),
  sums: [...section.querySelectorAll("tfoot tr")].map(tr => ({part: tr.classList[0], ...read(tr)})),
}));
function read(tr) {
  return {cells: [...tr.cells].map(cell => cell.firstChild ? cell.firstChild.textContent : ""),
          values: [...tr.cells].map(cell => cell.dataset.v)};
}"""

_SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "s": 1e3, "ms": 1.0, "%": 0.01, "": 1.0}
_SUMMED = ("baseline", "new", "delta")


def is_shown(text: str, value: Any, unit: str, digits: int = 0) -> bool:
    """Whether a text is a value, rounded to the decimals that it has.

    Args:
        unit: of the column, where the text has none.
        digits: how many the text would have, if numbers as 0.5000 were not written 0.5.
    """
    if value is None or value == "":
        return text in ("—", "")
    if isinstance(value, bool):
        return text == ("yes" if value else "no")
    if isinstance(value, str):
        beginning, cut, end = text.partition("…")
        return text == value or bool(cut and value.startswith(beginning) and value.endswith(end))
    found = re.fullmatch(r"([+-]?[\d,]+(?:\.(\d+))?)(?:e([+-]\d+))?(?: (\S+))?", text)
    if not found or (found[4] or unit) not in _SIZES:
        return False
    scale = _SIZES[found[4] or unit] * 10.0 ** int(found[3] or 0)
    number = float(found[1].replace(",", "")) * scale
    rounding = 0.5 * scale * 10.0 ** -len(found[2] or "")
    if digits and not found[4] and (found[2] or found[3]):
        rounding = min(rounding, 0.5 * abs(value) * 10.0 ** (1 - digits))
    return abs(number - value) <= rounding * 1.000001 + 1e-12 * abs(value)


def is_change(text: str, row: dict[str, Any]) -> bool:
    """Whether a text is the change of a row from its baseline to its new value."""
    baseline, ratio, delta = row.get("baseline"), row.get("ratio"), row.get("delta")
    if text in ("only baseline", "only new", "gone", "added"):
        side = "baseline_only" if text in ("only baseline", "gone") else "new_only"
        return bool(row.get("presence") == side and (delta is None) == text.startswith("only"))
    if text == "from 0":
        return baseline == 0 and bool(delta)
    if text == "—":
        return ratio is None and delta != 0
    if delta == 0:
        return text == "0.0 %"
    found = re.fullmatch(r"×([\d,]+\.\d+)|([+-][\d.]+|0\.0) %", text)
    if not found or ratio is None:
        return False
    if found[1]:
        digits = len(found[1].partition(".")[2])
        return ratio >= 2 and abs(float(found[1].replace(",", "")) - ratio) <= 0.500001 * 10.0**-digits
    return ratio < 2 and abs(float(found[2]) - (ratio - 1) * 100) <= 0.0500001


def wrong_cells(tables: list[dict[str, Any]], document: dict[str, Any]) -> Iterator[str]:
    """The cells that do not say what the document holds."""
    for table in tables:
        rows = document["overall"] if table["name"] == "overall" else document["sections"].get(table["name"], [])
        if len(table["rows"]) > len(rows):
            yield f"{table['name']}: {len(table['rows'])} rows of {len(rows)}"
        for row, shown in zip(rows, table["rows"], strict=False):
            yield from _wrong_in_row(table, row, shown, rows)
        if table["sums"]:
            yield from _wrong_sums(table, rows, document["section_info"][table["name"]]["rest"])


def _wrong_in_row(
    table: dict[str, Any], row: dict[str, Any], shown: dict[str, Any], rows: list[dict[str, Any]]
) -> Iterator[str]:
    for key, unit, text, sort in zip(table["keys"], table["units"], shown["cells"], shown["values"], strict=True):
        text, value = text.strip(), row.get(key)
        if key == "ratio":
            right = is_change(text, row)
        elif key == "change_share":
            value = row["delta"] / math.fsum(other["delta"] for other in rows)
            right = is_shown(text, value, "%")
        elif key in ("samples", "evidence"):
            right = _is_of_runs(text, row)
        elif key == "polarity":
            right = text == ("—" if value is None else value) or (text == "" and value == "neutral")
        elif table["name"] == "overall" and row["unit"] == "s" and key in _SUMMED and value is not None:
            right = is_shown(text, value * 1e3, "")
        else:
            timed = unit or (key in _SUMMED and row.get("unit") in ("s", "ms"))
            right = is_shown(text, value, unit, 0 if timed else 4)
        if not right:
            yield f"{table['name']}, {key}: {text!r} ({unit}) in {row}"
        if sort and (not isinstance(value, (int, float)) or not math.isclose(float(sort), value)):
            yield f"{table['name']}, {key}: sorts as {sort} in {row}"


def _is_of_runs(text: str, row: dict[str, Any]) -> bool:
    """Whether the values of runs are those of the document; evidence has the numbers that it has there."""
    if " against " not in text:
        numbers = [float(found.replace(",", "")) for found in re.findall(r"[\d,]+\.?\d*", text)]
        values = [value for value in row["evidence"].values() if not isinstance(value, bool)]
        return all(any(math.isclose(number, value, rel_tol=1e-3) for value in values) for number in numbers)
    sides = [[] if side == "—" else side.split(", ") for side in text.split(" against ")]
    wanted = [row["samples"][side][:10] for side in ("baseline", "new")]
    return all(
        len(texts) == len(values) and all(is_shown(one, value, "") for one, value in zip(texts, values, strict=True))
        for texts, values in zip(sides, wanted, strict=True)
    )


def _wrong_sums(table: dict[str, Any], rows: list[dict[str, Any]], rest: list[dict[str, Any]]) -> Iterator[str]:
    """Sums of a table that are not those of its rows and of what it leaves out."""
    number = {sum_["part"]: int(sum_["cells"][0].split()[0].replace(",", "")) for sum_ in table["sums"]}
    if number["all"] != len(rows) + sum(one["rows"] for one in rest):
        yield f"{table['name']}: {number['all']} rows in all"
    if len(number) > 1 and sum(number.values()) != 2 * number["all"]:
        yield f"{table['name']}: {number}"
    for place, key in enumerate(table["keys"]):
        if key not in _SUMMED:
            continue
        whole = table["sums"][-1]["cells"][place]
        parts = [row.get(key) for row in (*rows, *rest)]
        numbers = [part for part in parts if part is not None]
        total = math.fsum(numbers) if len(numbers) == len(parts) else None
        if not is_shown(whole, total, table["units"][place]):
            yield f"{table['name']}: {whole!r} is the sum of {key}"


def read(seen: Visit, folder: Path) -> tuple[int, list[str]]:
    """How many cells a page has, and the wrong ones."""
    tables = seen.page.evaluate(_READ)
    document = json.loads((folder / "diff.json").read_text())
    count = sum(len(row["cells"]) for table in tables for row in table["rows"])
    return count, list(wrong_cells(tables, document))


@pytest.mark.parametrize("make", [diff_examples.regression, diff_examples.unstable, diff_examples.identical])
def test_cells_of_examples(visit: Callable[[Diff], Visit], tmp_path: Path, make: Callable[[], Diff]) -> None:
    count, wrong = read(visit(make()), tmp_path / "out1")
    assert count > 30 and not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("baseline", "new"),
    [
        ("logs/grpo-300steps-a.log", "logs/grpo-300steps-b.log"),
        ("profiles/ascend-qwen3-pp2-2025q4/rank_0_ascend_pt", "profiles/ascend-qwen3-pp2-2025q4/rank_3_ascend_pt"),
        ("profiles/cpu-torch213-2rank/base", "profiles/cpu-torch213-2rank/changed"),
    ],
)
def test_cells_of_real_data(
    visit: Callable[[Diff], Visit], shared: Path, tmp_path: Path, baseline: str, new: str
) -> None:
    diff = compared(shared / baseline, shared / new, tmp_path)
    count, wrong = read(visit(diff), tmp_path / "out1")
    assert count > 300 and not wrong, "\n".join(wrong)
