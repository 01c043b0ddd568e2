"""How many names a kind of time is spread over, and what the largest is called."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rlcompare.compare.parts import Part
from rlcompare.compare.places import _names, _shown

EVIDENCE: Any = SimpleNamespace(on_device=True, short=lambda name: name)


def named(*kinds: str) -> dict[int, Part]:
    return {place: Part(kind, None, "x", 1.0, 2.0) for place, kind in enumerate(kinds)}


@pytest.mark.parametrize(
    ("kind", "names", "told"),
    [
        ("compute", [named("compute")], "1 kernel"),
        ("communication", [named("comm"), named("transfer", "comm")], "2 collectives"),
        ("communication", [named("comm"), named("wait"), named("wait")], "1 collective and 2 ranks"),
        ("communication", [named("wait")], "1 rank"),
        ("idle", [named("operator")], "1 operator or call"),
        ("idle", [named("operator"), named("python")], "2 operators and calls"),
        ("idle", [named("launch", "queue"), named("python")], "2 operators, calls and launches"),
        ("idle", [named("launch")], "1 launch"),
    ],
)
def test_names_are_counted_by_what_they_are_of(kind: str, names: list[dict[int, Part]], told: str) -> None:
    assert _names(EVIDENCE, kind, names) == told


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        (named("wait"), "waiting for x"),
        (named("launch", "queue"), "the launch of x"),
        (named("operator", "launch"), "x"),
        (named("compute"), "x"),
    ],
)
def test_the_largest_is_called_what_it_is(parts: dict[int, Part], told: str) -> None:
    assert _shown(EVIDENCE, "x", parts) == told
