"""Numbers beyond reason, as a damaged log or a store of somebody else may hold, must not fill the terminal."""

from __future__ import annotations

import pytest

from rlcompare.compare import phrases
from rlcompare.gate import text as gate_text
from rlcompare.model.digits import grouped
from rlcompare.report import quantity
from rlcompare.report.table import table_lines

BEYOND = 1.25e100


@pytest.mark.parametrize(
    ("value", "decimals", "sign", "text"),
    [
        (1234.56, 1, "", "1,234.6"),
        (1234.56, 1, "+", "+1,234.6"),
        (-1234.56, 0, "+", "-1,235"),
        (999_999_999_999_999.0, 0, "", "999,999,999,999,999"),
        (1e15, 3, "", "1e+15"),
        (-BEYOND, 3, "", "-1.25e+100"),
        (BEYOND, 1, "+", "+1.25e+100"),
    ],
)
def test_large_numbers_are_in_powers_of_ten(value: float, decimals: int, sign: str, text: str) -> None:
    assert grouped(value, decimals, sign) == text


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (quantity.quantity(BEYOND, "ms"), "1.25e+97 s"),
        (quantity.amount(BEYOND, "bytes"), "1.137e+88 TiB"),
        (quantity.change(BEYOND), "×1.25e+100"),
        (quantity.pair(1.0, BEYOND, "count"), "1 → 1.25e+100"),
        (phrases.ms(BEYOND), "1.25e+97 s"),
        (phrases.seconds(BEYOND), "1.25e+100 s"),
        (phrases.percent(BEYOND), "1.25e+102 %"),
        (phrases.times(BEYOND), "1.25e+100 times as long"),
        (phrases.count(BEYOND), "1.25e+100"),
        (gate_text.quantity(BEYOND, "bytes"), "1.137e+88 TiB"),
        (gate_text.quantity(BEYOND, "s"), "1.25e+100 s"),
    ],
)
def test_so_they_are_wherever_a_value_is_shown(shown: str, text: str) -> None:
    assert shown == text


def test_a_column_is_as_wide_as_its_digits() -> None:
    rows = [(BEYOND, 3.0), (1.5, 1e30)]
    assert table_lines(("mean", "steps"), rows, thousands=True) == [
        "     mean  steps",
        "1.25e+100      3",
        "    1.500  1e+30",
    ]


def test_times_since_1970_of_a_query_keep_their_digits() -> None:
    _, *lines = table_lines(("start_ns",), [(1.7e18,), (BEYOND,)])
    assert lines == ["1700000000000000000.000", "              1.25e+100"]
