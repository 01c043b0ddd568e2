"""``report.svg`` beside ``report.md``: well-formed, to the scale of its numbers, harmless, and in light and dark."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rlcompare.model.diff import Diff
from rlcompare.report.markdown import render_markdown
from rlcompare.report.picture import render_picture
from rlcompare.report.view import build_view
from rlcompare.report.write import write_report
from tests.unit import diff_examples

SVG = "{http://www.w3.org/2000/svg}"
MS = re.compile(r"([+-]?[0-9,.]+) (ms|s)")


def drawn(diff: Diff) -> ElementTree.Element:
    return ElementTree.fromstring(render_picture(build_view(diff)))


def time_of(text: str) -> float:
    number, unit = MS.fullmatch(text).groups()  # type: ignore[union-attr]
    return float(number.replace(",", "")) * (1e3 if unit == "s" else 1)


def test_bars_are_to_the_scale_of_their_numbers() -> None:
    """One scale for all changes and for the ends of both totals; each bar begins where the last one ended."""
    diff = diff_examples.regression()
    picture = drawn(diff)
    bars = [bar for bar in picture.iter(f"{SVG}rect") if "bar" in bar.get("class", "")]
    values = [time_of(text.text or "") for text in picture.iter(f"{SVG}text") if text.get("class") == "value"]
    lengths, starts = ([float(bar.get(key, "")) for bar in bars] for key in ("width", "x"))
    assert len(values) == len(bars) == 2 + len(diff.causes) + 1
    changes = values[1:-1]
    scale = lengths[1] / abs(changes[0])
    assert lengths[1:-1] == [pytest.approx(abs(change) * scale, abs=0.11) for change in changes]
    assert lengths[-1] - lengths[0] == pytest.approx(265.0 * scale, abs=0.3)
    assert [values[0], values[-1]] == [4752.5, 5017.5] and sum(changes) == pytest.approx(265.0, abs=0.3)
    end = starts[0] + lengths[0]
    for start, length, change in zip(starts[1:-1], lengths[1:-1], changes, strict=True):
        assert (start if change > 0 else start + length) == pytest.approx(end, abs=0.11)
        end = start + length if change > 0 else start
    assert all(start >= 220 and start + length <= 600.1 for start, length in zip(starts, lengths, strict=True))


@pytest.mark.parametrize("name", diff_examples.HOSTILE_NAMES)
def test_a_name_is_only_text(name: str) -> None:
    base = diff_examples.regression()
    causes = tuple(replace(cause, row=name, text=name, member=name) for cause in base.causes)
    picture = drawn(replace(base, causes=causes, new=replace(base.new, label=name)))
    tags = {element.tag.removeprefix(SVG) for element in picture.iter()}
    assert tags <= {"svg", "title", "style", "rect", "text", "path"}
    attributes = {key for element in picture.iter() for key in element.attrib}
    assert attributes <= {"width", "height", "viewBox", "role", "class", "x", "y", "rx", "d"}
    assert all(len(text.text or "") < 130 for text in picture.iter(f"{SVG}text"))


def test_it_is_light_and_dark_and_asks_for_nothing() -> None:
    text = render_picture(build_view(diff_examples.regression()))
    used = set(re.findall(r"var\((--[\w-]+)\)", text))
    parts = text.split("@media (prefers-color-scheme: dark)")
    light, dark = (dict(re.findall(r"(--[\w-]+): ([^;]+);", part)) for part in parts)
    assert used <= set(light) and used <= set(dark)
    assert light["--bg"] != dark["--bg"] and light["--text"] != dark["--text"]
    assert not re.search(r"url\(|href|@import|<script", text)
    assert text.count("http") == 1, "the name space"


def test_markdown_refers_to_it_with_its_numbers_as_text(tmp_path: Path) -> None:
    out = tmp_path / "out"
    files = write_report(diff_examples.regression(), out, {"md"})
    (line,) = [line for line in (out / "report.md").read_text().splitlines() if line.startswith("![")]
    alternative, target = re.fullmatch(r"!\[(.*)\]\((.*)\)", line).groups()  # type: ignore[union-attr]
    assert (target, out / target in files) == ("report.svg", True)
    assert "baseline 4,752.5 ms" in alternative and "new 5,017.5 ms" in alternative
    # AND without Markdown the next report removes it
    write_report(diff_examples.regression(), out, set())
    assert not (out / "report.svg").exists()
    # AND where there is nothing to draw, nothing refers to it
    write_report(diff_examples.empty(), out, {"md"})
    assert not (out / "report.svg").exists() and "![" not in (out / "report.md").read_text()
    assert "![" not in render_markdown(build_view(diff_examples.regression()))
