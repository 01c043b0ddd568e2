"""Verdicts that are looked at while runs are added: they are wrong no more often than one look is."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from rlcompare.compare.estimate import FALSE_ALARM, MISS, Spread, allowed
from rlcompare.gate.decision import Limits, decide
from rlcompare.gate.sequential import Look, attained, levels, looks
from rlcompare.model.words import Polarity, Status

SEQUENCES = 40_000
STARTS = [
    ((0, 0), (10, 10)), ((5, 0), (10, 10)), ((5, 0), (5, 10)), ((5, 5), (10, 10)), ((1, 1), (8, 8)), ((0, 0), (5, 5)),
    ((3, 1), (20, 20)), ((12, 0), (10, 10)),
]  # fmt: skip


@pytest.mark.parametrize(("first", "most"), STARTS)
def test_the_odds_are_divided(first: tuple[int, int], most: tuple[int, int]) -> None:
    planned = looks(first, most)
    runs = [look.runs for look in planned]
    assert runs[-1] == (max(first[0], most[0]), max(first[1], most[1]))
    assert all(before[side] <= after[side] for before, after in pairwise(runs) for side in (0, 1))
    assert len(set(runs)) == len(runs)
    for total, found in ((FALSE_ALARM, [look.odds.false_alarm for look in planned]),
                         (MISS, [look.odds.miss for look in planned])):  # fmt: skip
        assert all(level > 0 for level in found)
        assert 0.5 * total < sum(found) <= total * (1 + 1e-9)
        assert any(attained(each, level) == pytest.approx(level) for each, level in zip(runs, found, strict=True))


def test_a_single_look_has_all_of_them() -> None:
    assert levels([(1, 1)], FALSE_ALARM) == [FALSE_ALARM]
    assert levels([(5, 5)], FALSE_ALARM) == [pytest.approx(1 / 252)]


def wrong_pairs(values: np.ndarray, look: Look) -> np.ndarray:
    """Of each sequence, how many pairs speak against larger new values."""
    m, n = look.runs
    return (values[:, 1, None, :n] <= values[:, 0, :m, None]).sum(axis=(1, 2))


@pytest.mark.parametrize(("first", "most"), STARTS)
def test_exact_looks_at_equal_runs_fail_rarely(first: tuple[int, int], most: tuple[int, int]) -> None:
    """In any of the looks that need no assumption, whatever the distribution is: here one run in ten is slow."""
    rng = np.random.default_rng(5)
    planned = looks(first, most)
    size = max(max(look.runs) for look in planned)
    values = rng.normal(1, 0.02, (SEQUENCES, 2, size)) * np.where(rng.random((SEQUENCES, 2, size)) < 0.1, 1.2, 1)
    failed = np.zeros(SEQUENCES, bool)
    for look in planned:
        fits = allowed(*sorted(look.runs), look.odds.false_alarm)
        if fits is not None:
            failed |= wrong_pairs(values, look) <= fits
    assert failed.mean() <= FALSE_ALARM + 3 * math.sqrt(FALSE_ALARM / SEQUENCES)
    assert failed.mean() > FALSE_ALARM / 10, "there is at least one exact look"


@pytest.mark.parametrize("most", [5, 10])
def test_all_looks_at_equal_runs_fail_rarely(most: int) -> None:
    """Where runs differ as much as is assumed; as ``decide`` does it, which a part of the sequences shows."""
    rng, noise = np.random.default_rng(6), 0.03
    values = np.exp(rng.normal(0, noise, (SEQUENCES, 2, most)))
    failed = np.zeros(SEQUENCES, bool)
    for look in looks((0, 0), (most, most)):
        m, n = look.runs
        fits = allowed(m, n, look.odds.false_alarm)
        wrong = wrong_pairs(values, look)
        if fits is None:
            changes = np.log(values[:, 1, None, :n] / values[:, 0, :m, None]).reshape(SEQUENCES, -1)
            reach = Spread(noise).reach(look.odds.false_alarm) * noise * math.sqrt(1 / m + 1 / n)
            fails = (wrong == 0) & (np.median(changes, axis=1) > reach)
        else:
            fails = wrong <= fits
        for number in (*range(40), *np.flatnonzero(fails)[:20]):
            found = decide(
                values[number, 0, :m].tolist(), values[number, 1, :n].tolist(), Polarity.LOWER, Limits(1e-9, None),
                Spread(noise), false_alarm=look.odds.false_alarm, miss=look.odds.miss,
            )  # fmt: skip
            # Few runs that contradict what is assumed are inconclusive: then less fails than is counted here.
            assert (
                found.status == Status.REGRESSED
                if fails[number] and fits is not None
                else (fails[number] or found.status != Status.REGRESSED)
            )
        failed |= fails
    assert failed.mean() <= FALSE_ALARM + 3 * math.sqrt(FALSE_ALARM / SEQUENCES)


def test_a_change_of_twice_the_limit_rarely_passes() -> None:
    rng, noise, limit = np.random.default_rng(7), 0.03, 0.05
    sequences = 400
    values = np.exp(rng.normal(0, noise, (sequences, 2, 10)))
    values[:, 1] *= 1 + 2 * limit
    ends = []
    for baseline, new in values:
        for look in looks((0, 0), (10, 10)):
            m, n = look.runs
            found = decide(
                baseline[:m].tolist(), new[:n].tolist(), Polarity.LOWER, Limits(limit, None), Spread(noise),
                false_alarm=look.odds.false_alarm, miss=look.odds.miss,
            )  # fmt: skip
            if found.status != Status.INCONCLUSIVE:
                break
        ends.append(found.status)
    assert ends.count(Status.PASS) <= MISS * sequences + 3 * math.sqrt(MISS * sequences)
    assert ends.count(Status.REGRESSED) > 0.9 * sequences
