"""Which tests `make test` runs (tests/conftest.py)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import pytest

from tests import conftest


@dataclass(frozen=True)
class Item:
    """What the choice asks of a test."""

    nodeid: str
    marks: tuple[pytest.Mark, ...] = ()

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next((mark for mark in self.marks if mark.name == name), None)


SLOW, THOROUGH = pytest.mark.slow.mark, pytest.mark.thorough.mark
SETS = [Item(f"a.py::test[{number}]", (SLOW,)) for number in range(2 * conftest.TURNS)]
SINGLE = [Item(f"a.py::test_{number}", (SLOW,)) for number in range(100)]


@pytest.fixture(autouse=True)
def _as_in_make_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "ALL", False)


def chosen(items: list[Item], turn: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    monkeypatch.setattr(conftest, "TURN", turn)
    numbers = range(len(items)) if items is SETS else [0] * len(items)
    return {item.nodeid for item, number in zip(items, numbers, strict=True) if conftest._is_chosen(item, number)}  # type: ignore[arg-type]


@pytest.mark.parametrize("items", [SETS, SINGLE], ids=["sets of parameters", "single tests"])
def test_each_slow_test_runs_at_one_of_the_turns(items: list[Item], monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [chosen(items, f"c1e89c9{number}", monkeypatch) for number in range(conftest.TURNS)]
    assert sorted(chain.from_iterable(turns)) == sorted(item.nodeid for item in items)
    assert all(0.5 < len(turn) * conftest.TURNS / len(items) < 1.5 for turn in turns)
    assert chosen(items, "", monkeypatch) == set().union(*turns), "without a turn all run"


def test_what_is_quick_always_runs_and_what_is_thorough_never_unless_all_do(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [Item("a.py::test"), Item("a.py::test_long", (THOROUGH,))]
    assert [chosen(items, turn, monkeypatch) for turn in ("0", "1")] == [{"a.py::test"}] * 2
    monkeypatch.setattr(conftest, "ALL", True)
    assert len(chosen(items, "0", monkeypatch)) == 2


def test_one_in_n_sets_of_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    third = pytest.mark.one_in(3).mark
    assert [conftest._is_chosen(Item("a.py::test[x]", (third, SLOW)), number) for number in range(4)] == [  # type: ignore[arg-type]
        True,
        False,
        False,
        True,
    ]
