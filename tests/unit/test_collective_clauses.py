"""What is told of a collective that several groups of ranks have: of all of them together."""

from __future__ import annotations

from typing import Any

import pytest

from rlcompare.compare.communication import _split


def group(wait: tuple[float, float], transit: tuple[float, float], **more: Any) -> dict[str, Any]:
    sides = {"baseline_wait_ms": wait[0], "new_wait_ms": wait[1]}
    sides |= {"baseline_transit_ms": transit[0], "new_transit_ms": transit[1]}
    totals = {"baseline": wait[0] + transit[0], "new": wait[1] + transit[1]}
    found = {
        "name": "all_reduce",
        "presence": "both",
        "baseline_calls": 4.0,
        "new_calls": 4.0,
        **totals,
        **sides,
        **more,
    }
    return found | {"delta": found["new"] - (found["baseline"] or 0.0)}


WAITS, MOVES = group((1.0, 4.0), (1.0, 1.0)), group((1.0, 1.0), (1.0, 3.0))

ALONE = {
    "presence": "new_only", "baseline": None, "delta": 4.0,
    "baseline_calls": None, "baseline_wait_ms": None, "baseline_transit_ms": None,
}  # fmt: skip
"""The group is that of the new side alone."""


@pytest.mark.parametrize(
    ("rows", "clause"),
    [
        ([WAITS], ", nearly all of it waiting for other ranks"),
        ([WAITS, MOVES, MOVES, MOVES], ", both waiting and transfer"),  # 3 ms and 6 ms
        ([WAITS, *[MOVES] * 6], ", nearly all of it transfer"),
        ([WAITS, MOVES | {"new_wait_ms": None}], ""),
        ([WAITS, MOVES | ALONE], ", and is called 100 % more often"),
        ([WAITS | {"baseline_bytes": 100.0, "new_bytes": 300.0}, MOVES | {"baseline_bytes": 100.0, "new_bytes": 100.0}],
         ", and moves 100 % more bytes"),
        ([WAITS | {"new_calls": 6.0}, MOVES | {"new_calls": 2.0}], ", both waiting and transfer"),
        # Bytes or calls that explain less than half of it, or changed the other way.
        ([WAITS | {"baseline_bytes": 100.0, "new_bytes": 103.0}], ", nearly all of it waiting for other ranks"),
        ([WAITS | {"new_calls": 3.0}], ", nearly all of it waiting for other ranks"),
        ([group((1.0, 2.0), (1.0, 0.4))], ", waiting for other ranks +1.00 ms and transfer -0.600 ms"),
        ([group((1.0, 2.0), (1.0, 0.9))], ", nearly all of it waiting for other ranks"),
    ],
)  # fmt: skip
def test_what_changed_is_that_of_all_groups(rows: list[dict[str, Any]], clause: str) -> None:
    assert _split(rows) == clause
