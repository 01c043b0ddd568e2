"""Names from a profile become one safe line of a width; numbers are written as people read them."""

from __future__ import annotations

import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlcompare.report import quantity
from rlcompare.text import fit, fit_names, flow, for_encoding, pad, safe_text, width_of, wrap

_any_text = st.text(st.characters(codec=None), max_size=40)


@given(_any_text, st.integers(2, 30))
def test_safe_text_is_one_visible_line_of_a_length(text: str, limit: int) -> None:
    shown = safe_text(text, limit)
    assert len(shown) <= limit
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in shown)
    assert len(shown.splitlines()) <= 1
    shown.encode("utf-8")


@given(st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=50))
def test_ordinary_names_stay_as_they_are(text: str) -> None:
    assert safe_text(text) == text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("a\nb", r"a\nb"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202eabc", r"\u202eabc"),
        ("\u2066x\u2069", r"\u2066x\u2069"),
        ("zero\u200bwidth", r"zero\u200bwidth"),
        ("nul\x00", r"nul\x00"),
        ("\ud800", r"\ud800"),
        ("宽", "宽"),
        (None, ""),
        (7, "7"),
    ],
)
def test_safe_text_examples(raw: object, shown: str) -> None:
    assert safe_text(raw) == shown


def test_a_megabyte_is_cut() -> None:
    assert safe_text("x" * 1_000_000) == "x" * 199 + "…"


@given(_any_text.map(safe_text), st.integers(1, 30))
def test_fit_and_pad_keep_the_width(text: str, width: int) -> None:
    assert width_of(fit(text, width)) <= width
    assert width_of(pad(fit(text, width), width)) == width
    assert width_of(pad(fit(text, width), width, right=True)) == width


@given(st.lists(_any_text.map(safe_text), max_size=5), st.integers(1, 30))
def test_names_fit_a_width(names: list[str], width: int) -> None:
    shown = fit_names(names, width)
    assert len(shown) == len(names) and all(width_of(text) <= width for text in shown)
    assert all(text == name for text, name in zip(shown, names, strict=True) if width_of(name) <= width)


def test_names_that_differ_at_their_ends_are_told_from_each_other() -> None:
    names = ["aten::attention_for_cpu", "aten::attention_for_cpu_backward", "aten::attention_for_cpu", "aten::mm"]
    assert fit_names(names, 16) == ["aten::at…for_cpu", "aten::at…ackward", "aten::at…for_cpu", "aten::mm"]
    assert fit_names(names[1:], 24) == ["aten::attention_for_cpu…", "aten::attention_for_cpu", "aten::mm"]


def test_names_that_differ_in_their_middles_are_told_from_each_other() -> None:
    names = [
        f"void embedding_backward_unweighted_kernel_{kind}_per_row_1<c10::Half, float>" for kind in ("cta", "warp")
    ]
    assert fit_names(names, 36) == ["void embeddi…ernel_cta_per_row_1<c1…", "void embeddi…ernel_warp_per_row_1<c…"]


def test_wide_characters_take_two_columns() -> None:
    assert width_of("核e") == 3
    assert fit("核函数名称", 5) == "核函…"


@given(st.lists(st.text("abc ·", min_size=1, max_size=12), max_size=8), st.integers(10, 40), st.integers(1, 4))
def test_flow_fits_and_loses_no_part_silently(parts: list[str], width: int, lines: int) -> None:
    result = flow(parts, width, lines)
    assert len(result) <= lines
    assert all(width_of(line) <= width for line in result)
    # A part that is longer than a line is broken, at a blank if it has one: only blanks and separators may differ.
    bare, joined = ("".join(texts).replace(" ", "").replace("·", "") for texts in (parts, result))
    assert joined == bare or "more" in joined or "…" in joined


def test_flow_counts_what_has_no_place() -> None:
    assert flow(["aaaa", "bbbb", "cccc", "dddd"], 18, 1) == ["aaaa · +3 more"]
    assert flow(["aaaa", "bbbb", "cccc", "dddd"], 18, 2) == ["aaaa · bbbb · cccc", "dddd"]
    assert flow([], 18, 2) == []
    assert flow(["a part longer than a line", "bbbb"], 18, 1) == ["a part… · +1 more"]
    assert flow(["a part longer than a line", "bbbb"], 18, 2) == ["a part longer than", "a line · bbbb"]


def test_wrap_keeps_every_word() -> None:
    assert wrap("one two three four", 9) == ["one two", "three", "four"]
    assert wrap("one two", 9) == ["one two"]
    assert wrap("on rank 1. And 48 %: it", 17) == ["on rank 1. And", "48 %: it"]
    assert wrap("from 1.5 ms to 2 GiB", 9) == ["from", "1.5 ms to", "2 GiB"]
    assert wrap("takes 5 msgs", 8) == ["takes 5", "msgs"]
    assert wrap("aclnnMatMulV2 is slow", 9) == ["aclnnMatM", "ulV2 is", "slow"]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8", "no-such-codec"])
def test_every_encoding_can_write_it(encoding: str) -> None:
    shown = for_encoding("4 → 5 ms · ×2 — Δ 核…", encoding)
    shown.encode("ascii" if encoding == "no-such-codec" else encoding)
    assert shown.startswith("4 → 5 ms" if encoding == "utf-8" else "4 -> 5 ms")


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (None, "ms", "—"),
        (4752.5, "ms", "4,752.5 ms"),
        (12.3456, "ms", "12.35 ms"),
        (0.0123, "ms", "0.0123 ms"),
        (0.0000123, "ms", "0.0000123 ms"),
        (0, "ms", "0.0 ms"),
        (-0.0, "ms", "0.0 ms"),
        (-0.2, "bytes", "0 B"),
        (187, "count", "187"),
        (2.5, "count", "2.5"),
        (21_514_126_934.5, "count", "21,514,126,934"),  # a mean: half an element is none
        (1_048_576, "count", "1,048,576"),
        (0.97113, "ratio", "0.9711"),
        (27580.123, "", "27,580.1"),
        (512, "bytes", "512 B"),
        (51_539_607_552, "bytes", "48.00 GiB"),
        (-1024, "bytes", "-1.00 KiB"),
        ("8.2.RC1", "", "8.2.RC1"),
        (True, "", "yes"),
        (False, "ms", "no"),
    ],
)
def test_quantity(value: float | str | None, unit: str, shown: str) -> None:
    assert quantity.quantity(value, unit) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1307.2, "1,307"), (999.6, "1,000"), (998.7, "999"), (-27580.1, "-27,580"), (0.01234, "0.0123"), (1e16, "1e+16")],
)
def test_brief_numbers_have_no_power_of_ten_unless_they_are_huge(value: float, shown: str) -> None:
    assert quantity.brief(value) == shown


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [
        (None, "from 0"),
        (1.18, "+18.0 %"),
        (0.5, "-50.0 %"),
        (1.0, "0.0 %"),
        (0.9999, "0.0 %"),
        (1.0001, "0.0 %"),
        (2.185, "×2.19"),
        (123.4, "×123.4"),
        (0.0, "-100.0 %"),
    ],
)
def test_change(ratio: float | None, shown: str) -> None:
    assert quantity.change(ratio) == shown


def test_pair_shares_unit_and_decimals() -> None:
    assert quantity.pair(4752.5, 5017.46, "ms") == "4,752.5 → 5,017.5 ms"
    assert quantity.pair(None, 5.0, "ms") == "— → 5.00 ms"
    assert quantity.pair(1024, 2048, "bytes") == "1.00 KiB → 2.00 KiB"
    assert quantity.pair(900 * 2**20, 1.1 * 2**30, "bytes") == "0.88 GiB → 1.10 GiB"
    assert quantity.pair(1000, 2**40, "bytes") == "1,000 B → 1.00 TiB"
    assert quantity.pair(0, 2**30, "bytes") == "0 B → 1.00 GiB"


def test_long_times_are_shown_in_seconds() -> None:
    """From ten seconds on; both values of a pair, and a difference beside them, in one unit."""
    assert quantity.pair(52_980.5, 63_179.5, "ms") == "52.98 → 63.18 s"
    assert quantity.pair(9_999.0, 3.0, "ms") == "9,999.0 → 3.0 ms"
    assert quantity.pair(3.0, 10_000.0, "ms") == "0.00 → 10.00 s"
    assert quantity.quantity(10_000.0, "ms") == "10.00 s"
    assert quantity.signed_quantity(-12_345.6, "ms") == "-12.35 s"
    assert quantity.moved(3_958.0, "ms", (52_980.5, 63_179.5)) == "+3.96 s"
    assert quantity.moved(3_958.0, "ms", (5_298.5, 6_317.5)) == "+3,958.0 ms"
    assert quantity.moved(None, "ms", (52_980.5, None)) == "—"


def test_signed() -> None:
    assert quantity.signed_quantity(265.0, "ms") == "+265.0 ms"
    assert quantity.signed_quantity(-0.5, "ms") == "-0.500 ms"
    assert quantity.signed_quantity(0.0, "ms") == "0.0 ms"
    assert quantity.signed(3 * 2**30, "bytes") == "+3.00 GiB"
    assert quantity.signed(None, "ms") == "—"
    assert quantity.signed(-0.0001, "ms", 3) == "0.000"
    assert quantity.signed(0.0001, "ms", 3) == "0.000"


@pytest.mark.parametrize(
    ("delta", "ratio", "baseline", "shown"),
    [
        (None, None, None, "—"),
        (0.0, None, 0.0, "0.0 %"),
        (5.0, None, 0.0, "from 0"),
        (5.0, 1.5, 10.0, "+50.0 %"),
        (None, 1.5, None, "+50.0 %"),
        (0.79, None, -0.69, "—"),
        (-0.79, None, 0.1, "—"),
    ],
)
def test_change_of(delta: float | None, ratio: float | None, baseline: float | None, shown: str) -> None:
    assert quantity.change_of(delta, ratio, baseline) == shown


@given(
    st.floats(allow_nan=False, allow_infinity=False, width=32), st.sampled_from(["ms", "bytes", "ratio", "count", ""])
)
def test_any_number_can_be_written(value: float, unit: str) -> None:
    assert quantity.quantity(value, unit)
    assert quantity.signed_quantity(value, unit)
    assert math.isfinite(float(quantity.brief(value).replace(",", "")))


def test_chinese_text_is_broken_beside_its_characters_and_not_before_punctuation() -> None:
    text = "设备等待 update_actor 中的代码，每步增加 4.00 ms（此前 1.00 ms）。"  # noqa: RUF001
    for width in range(14, 60):
        lines = wrap(text, width)
        assert all(width_of(line) <= width for line in lines)
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
        assert not any(line[0] in "，。）" or line[-1] == "（" for line in lines)  # noqa: RUF001
    assert wrap(text, 24)[0] == "设备等待 update_actor 中"


def test_of_very_many_parts_those_that_fit_are_shown() -> None:
    few, many = ([f"key{n}" for n in range(count)] for count in (100, 50_000))
    (line,) = flow(many, 40, 1)
    assert line.startswith("key0 · key1 · ")
    assert line.rpartition(" · ")[2] == f"+{50_000 - line.count('key'):} more"
    assert flow(few, 40, 2)[0] == flow(many, 40, 2)[0]
