"""The colours of the page: readable in both themes, and told apart by colour-blind people."""

from __future__ import annotations

import itertools
import re

import pytest

from rlcompare.resources import resource_root

_BASE = (resource_root("report_templates") / "page" / "base.css").read_text(encoding="utf-8")
_GROUNDS = ("bg", "soft", "worse-bg", "better-bg", "caution-bg")
_TONES = ("worse", "better", "caution")
_MARKS = ("total", "part", "slower", "faster", "free", "compute", "exposed_comm")

COLOUR_BLIND = {
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
}
"""Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB."""

Colour = tuple[float, ...]


def _block(selector: str) -> dict[str, str]:
    found = re.search(rf"{re.escape(selector)}\s*\{{(.*?)\}}", _BASE, re.DOTALL)
    assert found, selector
    return dict(re.findall(r"--([\w-]+): ([^;]+);", found[1]))


LIGHT = _block(":root")
DARK = _block(':root[data-theme="dark"]')
themes = pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])


def linear(colour: str) -> Colour:
    digits = colour.lstrip("#")
    digits = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    return tuple(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)


def luminance(colour: Colour) -> float:
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), colour, strict=True))


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(linear(one)), luminance(linear(other))), reverse=True)
    return (high + 0.05) / (low + 0.05)


def lab(colour: Colour) -> Colour:
    """CIE L*a*b*, of D65."""
    red, green, blue = (min(max(part, 0.0), 1.0) for part in colour)
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def test_the_system_and_the_switch_give_the_same_dark_page() -> None:
    assert _block(':root:not([data-theme="light"])') == DARK
    assert set(DARK) == set(LIGHT)


@themes
def test_text_stands_out_from_each_ground(colours: dict[str, str]) -> None:
    """4.5 to 1, WCAG 2 AA."""
    pairs = [(text, ground) for text in ("text", "muted", "link") for ground in _GROUNDS]
    pairs += [(tone, ground) for tone in _TONES for ground in ("bg", "soft", f"{tone}-bg")]
    found = {pair: round(contrast(colours[pair[0]], colours[pair[1]]), 2) for pair in pairs}
    assert {pair: value for pair, value in found.items() if value < 4.5} == {}


@themes
def test_marks_of_pictures_stand_out_from_the_page(colours: dict[str, str]) -> None:
    """3 to 1, WCAG 2 AA for graphics."""
    assert [name for name in _MARKS if contrast(colours[name], colours["bg"]) < 3.0] == []


@themes
@pytest.mark.parametrize("kind", [None, *COLOUR_BLIND])
def test_parts_that_take_more_and_less_time_are_told_apart(colours: dict[str, str], kind: str | None) -> None:
    """By 20 units of CIELAB at least; neighbours in a text differ in sign as well."""
    seen = {}
    for name in ("slower", "faster", "total", "free"):
        colour = linear(colours[name])
        if kind is not None:
            colour = tuple(
                sum(weight * part for weight, part in zip(row, colour, strict=True)) for row in COLOUR_BLIND[kind]
            )
        seen[name] = lab(colour)
    for one, other in itertools.combinations(seen, 2):
        apart = sum((a - b) ** 2 for a, b in zip(seen[one], seen[other], strict=True)) ** 0.5
        assert apart >= 20, (one, other, round(apart, 1))
