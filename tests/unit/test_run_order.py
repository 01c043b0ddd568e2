"""The order of the runs in time: interleaved sides, drift, and noise."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import permutations, product

import pytest

from rlcompare.compare import run_order
from rlcompare.compare.run_order import DRIFT_ODDS, drift_odds, order_findings
from rlcompare.model.diff import Delta, RunInfo, Side
from rlcompare.model.words import Polarity, SideName

LETTERS: tuple[tuple[SideName, str], ...] = (("baseline", "A"), ("new", "B"))
FIRST = datetime(2026, 11, 20, tzinfo=timezone.utc)


def sides_of(order: str, known: bool = True) -> dict[SideName, Side]:
    """The sides of runs that were made in an order such as ``ABBA``, an hour apart."""
    starts = {letter: [place for place, found in enumerate(order) if found == letter] for letter in "AB"}
    return {
        side: Side(
            letter,
            tuple(
                RunInfo(f"run{place}", "", 0, 0, 9, 0, (FIRST + timedelta(hours=place)).isoformat() if known else None)
                for place in starts[letter]
            ),
            (), (), {},
        )
        for side, letter in LETTERS
    }  # fmt: skip


def found(order: str, values: list[float], known: bool = True) -> set[str]:
    by_side: dict[SideName, tuple[float, ...]] = {
        side: tuple(value for letter, value in zip(order, values, strict=True) if letter == wanted)
        for side, wanted in LETTERS
    }
    delta = Delta("timing_s/step", "s", Polarity.LOWER, 1, 1, 0, 1, by_side)
    return {finding.key for finding in order_findings(sides_of(order, known), delta)}


@pytest.mark.parametrize("order", ["ABBA", "ABAB", "ABBAAB", "ABBAABBAAB", "ABABABABAB", "BAABBAAB", "BAAB", "ABAABA"])
def test_interleaved_sides_share_the_drift(order: str) -> None:
    assert "runs.order" not in found(order, [1.0] * len(order))


@pytest.mark.parametrize("order", ["AABB", "AAAAABBBBB", "BBAA", "AAABAB", "AAAAABABBBBB"])
def test_blocks_of_runs_are_told(order: str) -> None:
    assert "runs.order" in found(order, [1.0] * len(order))
    assert found(order, [1.0] * len(order), known=False) == set()


def test_two_machines_do_not_drift_into_each_other() -> None:
    sides = sides_of("AABB")
    chips = (("A", "A"), ("A", "B"))
    told = [
        {finding.key for finding in order_findings({
            side: replace(sides[side], env={"chip": chip}) for (side, _), chip in zip(LETTERS, named, strict=True)
        }, None)}
        for named in chips
    ]  # fmt: skip
    assert told == [{"runs.order"}, set()]


def test_one_run_a_side_has_no_order() -> None:
    assert found("AB", [1.0, 1.1]) == found("AAB", [1.0, 1.0, 1.1]) == set()


@pytest.mark.parametrize("sizes", [(3, 3), (4, 2), (1, 5), (4, 1)])
def test_the_odds_of_a_drift_are_exact(sizes: tuple[int, int]) -> None:
    """Of all orders of both sides, as many are as consistent as the odds say."""
    orders = list(product(*(list(permutations(range(size))) for size in sizes)))
    odds = [drift_odds([list(map(float, values)) for values in order]) for order in orders]
    for each in set(odds):
        assert each is not None
        assert sum(other <= each + 1e-12 for other in odds if other is not None) / len(orders) == pytest.approx(each)


def test_equal_values_do_not_make_a_drift_rarer() -> None:
    """Of all orders of these values, no more are as consistent as the odds say."""
    odds = [drift_odds([list(order)]) for order in permutations((1.0, 1.0, 2.0, 3.0, 4.0, 5.0))]
    known = [each for each in odds if each is not None]
    assert all(sum(other <= each for other in known) <= len(odds) * each * (1 + 1e-9) for each in set(known))


def test_many_runs_are_told_from_few_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the runs up to which the test is exact, the odds are nearly the same."""
    rng = random.Random(1)
    strata = [[0.02 * place + rng.gauss(0, 1) for place in range(size)] for size in (40, 55)]
    exact = drift_odds(strata)
    monkeypatch.setattr(run_order, "_EXACT", 30)
    assert exact == pytest.approx(drift_odds(strata), rel=0.1)
    assert exact is not None
    assert 1e-4 < exact < 0.2


def test_drift_is_told_with_its_size() -> None:
    # GIVEN both sides, interleaved, and a machine that becomes 2 % slower with each run
    order = "ABBAABBAAB"
    (finding,) = order_findings(
        sides_of(order),
        Delta("timing_s/step", "s", Polarity.LOWER, 1, 1, 0, 1, {
            side: tuple(1.02**place for place, letter in enumerate(order) if letter == wanted)
            for side, wanted in LETTERS
        }),
    )  # fmt: skip
    assert finding.key == "runs.drift"
    assert "(8 hours), timing_s/step grew by 17.2 %" in finding.message  # 1.02 ** 8
    assert found(order, [1.02**-place for place in range(10)]) == {"runs.drift"}
    # AND not a change between the sides, nor a drift too small to matter, nor too few runs to tell
    assert found(order, [1.0 if letter == "A" else 1.2 for letter in order]) == set()
    assert found(order, [1.0 + 0.0001 * place for place in range(10)]) == set()
    assert found("ABBA", [1.02**place for place in range(4)]) == set()


def test_equal_runs_drift_as_rarely_as_said() -> None:
    rng = random.Random(7)
    told = sum("runs.drift" in found("ABBAABBAAB", [rng.gauss(1, 0.03) for _ in range(10)]) for _ in range(2000))
    assert 0.2 * DRIFT_ODDS < told / 2000 < 2 * DRIFT_ODDS


def test_a_noisy_machine_is_told_with_the_limit_it_allows() -> None:
    assert found("ABBAAB", [1.0, 1.0, 1.3, 1.6, 0.8, 0.9]) == {"runs.noise"}
    assert found("ABBAAB", [1.0, 1.05, 1.0, 1.1, 0.95, 0.95]) == set()
