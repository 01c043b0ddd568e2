"""The colours of the heat map of ranks: its numbers can be read, and its levels are told apart."""

from __future__ import annotations

import itertools
import re

import pytest

from rlcompare.resources import resource_root
from tests.unit.test_page_colours import COLOUR_BLIND, contrast, lab, linear

_FOLDER = resource_root("report_templates") / "page"
_LEVELS = tuple(f"{way}{degree}" for way in ("less", "more") for degree in (1, 2, 3, 4))


def _css(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _variable(css: str, selector: str, name: str) -> str:
    block = re.search(rf"{re.escape(selector)}\s*\{{(.*?)\}}", css, re.DOTALL)
    assert block
    found = re.search(rf"--{name}: ([^;]+);", block[1])
    assert found, (selector, name)
    return found[1]


def _ground(selector: str, level: str) -> str:
    """The colour of a cell: that of its level, mixed with the page's."""
    share = re.search(rf"td\.h-{level}\b[^{{]*\{{ background: rgb\(var\(--\w+\) / (\d+)%\)", _css("ranks.css"))
    assert share, level
    page = _variable(_css("base.css"), selector, "bg").lstrip("#")
    page = "".join(digit * 2 for digit in page) if len(page) == 3 else page
    ink = map(int, _variable(_css("ranks.css"), selector, level[:4]).split())
    part = int(share[1]) / 100
    mixed = (
        round(part * one + (1 - part) * int(page[at : at + 2], 16)) for at, one in zip((0, 2, 4), ink, strict=True)
    )
    return "#" + "".join(f"{value:02x}" for value in mixed)


themes = pytest.mark.parametrize("selector", [":root", ':root[data-theme="dark"]'], ids=["light", "dark"])


@themes
def test_numbers_stand_out_from_their_cells(selector: str) -> None:
    """4.5 to 1, WCAG 2 AA; what is muted or marked stands on the page's own ground."""
    text = _variable(_css("base.css"), selector, "text")
    found = {level: round(contrast(text, _ground(selector, level)), 2) for level in _LEVELS}
    assert {level: value for level, value in found.items() if value < 4.5} == {}


@themes
@pytest.mark.parametrize("kind", [None, *COLOUR_BLIND])
def test_longer_and_shorter_are_told_apart(selector: str, kind: str | None) -> None:
    """By 10 units of CIELAB from the second level on; every coloured cell has its difference with a sign, too."""
    seen = {}
    for level in _LEVELS:
        colour = linear(_ground(selector, level))
        if kind is not None:
            colour = tuple(
                sum(weight * part for weight, part in zip(row, colour, strict=True)) for row in COLOUR_BLIND[kind]
            )
        seen[level] = lab(colour)
    for one, other in itertools.product(("less2", "less3", "less4"), ("more2", "more3", "more4")):
        apart = sum((a - b) ** 2 for a, b in zip(seen[one], seen[other], strict=True)) ** 0.5
        assert apart >= 10, (one, other, round(apart, 1))


def test_the_system_and_the_switch_give_the_same_dark_cells() -> None:
    names = ("more", "less", "cell")
    system, switch = (
        [_variable(_css("ranks.css"), selector, name) for name in names]
        for selector in (':root:not([data-theme="light"])', ':root[data-theme="dark"]')
    )
    assert system == switch
