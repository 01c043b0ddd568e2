"""The colours of pictures: they stand out from the page, and colour-blind people tell neighbours apart."""

from __future__ import annotations

import itertools
import re

import pytest

from rlcompare.resources import resource_root
from tests.unit.test_page_colours import COLOUR_BLIND, contrast, lab, linear

_FOLDER = resource_root("report_templates") / "page"
_PLAIN = ("compute", "exposed_comm", "copy", "launch", "on-host")
"""Kinds of time that are drawn without a pattern."""

_INKS = ("wait-ink", "queue-ink", "unknown-ink", "start", "baseline", "new")


def _block(selector: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in ("base.css", "charts.css"):
        text = (_FOLDER / name).read_text(encoding="utf-8")
        block = re.search(rf"{re.escape(selector)}\s*\{{(.*?)\}}", text, re.DOTALL)
        assert block, (name, selector)
        found |= dict(re.findall(r"--([\w-]+): ([^;]+);", block[1]))
    return found


LIGHT, DARK = _block(":root"), _block(':root[data-theme="dark"]')
themes = pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])


def test_the_system_and_the_switch_give_the_same_dark_pictures() -> None:
    assert _block(':root:not([data-theme="light"])') == DARK
    assert set(DARK) == set(LIGHT)


@themes
def test_marks_stand_out_from_the_page(colours: dict[str, str]) -> None:
    """3 to 1, WCAG 2 AA for graphics."""
    found = {name: round(contrast(colours[name], colours["bg"]), 2) for name in (*_PLAIN, *_INKS)}
    assert {name: value for name, value in found.items() if value < 3} == {}


@themes
def test_text_stands_out_from_bands(colours: dict[str, str]) -> None:
    assert min(contrast(colours["text"], colours[name]) for name in ("soft", "line")) >= 4.5
    assert min(contrast(colours[name], colours["bg"]) for name in ("baseline", "new")) >= 4.5


@themes
@pytest.mark.parametrize("kind", [None, *COLOUR_BLIND])
def test_kinds_are_told_apart(colours: dict[str, str], kind: str | None) -> None:
    """By 12 units of CIELAB at least; every bar has its kind as text too."""
    seen = {}
    for name in _PLAIN:
        colour = linear(colours[name])
        if kind is not None:
            colour = tuple(
                sum(weight * part for weight, part in zip(row, colour, strict=True)) for row in COLOUR_BLIND[kind]
            )
        seen[name] = lab(colour)
    apart = {
        (one, other): round(sum((a - b) ** 2 for a, b in zip(seen[one], seen[other], strict=True)) ** 0.5, 1)
        for one, other in itertools.combinations(seen, 2)
    }
    assert {pair: value for pair, value in apart.items() if value < 12} == {}
