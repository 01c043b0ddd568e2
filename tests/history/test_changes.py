"""Changes of a history: what is one change, which way it goes, what explains it, and what accepts it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from rlcompare.compare.names import TOKEN_RATE
from rlcompare.history.changes import Change, find_changes
from rlcompare.history.metric_change import TOKENS
from rlcompare.history.records import Acknowledged
from rlcompare.history.store import History
from rlcompare.history.text import changes_lines
from tests.history.examples import HEADLINE, history, noisy

TODAY = "2026-11-23"
MEMORY, PHASE = "memory.peak_reserved", "phase.update_actor.wall"


def changes_of(found: History) -> tuple[Change, ...]:
    return find_changes(found, TODAY).changes


def series(seed: int, at: int | None = None, change: float = 0.0, count: int = 60, noise: float = 0.01) -> list[float]:
    return noisy(random.Random(seed), count, noise, at=at, change=change)


def test_flat_histories_have_no_changes() -> None:
    """20 histories of 60 runs and 8 metrics, noise 0.5 to 5 %, also with one in 10 runs slowed by 20 %."""
    for seed in range(20):
        rng = random.Random(seed)
        noise, slow = (0.005, 0.01, 0.02, 0.03, 0.05)[seed % 5], 0.1 * (seed % 2)
        step = noisy(rng, 60, noise, slow)
        phases = {f"phase.p{number}.wall": [value * rng.gauss(1, noise) for value in step] for number in range(7)}
        assert changes_of(history({HEADLINE: step, **phases})) == ()


def test_a_change_of_several_metrics_is_one() -> None:
    values = {
        HEADLINE: series(1, 40, 0.1),
        PHASE: [1e3 * value for value in series(2, 40, 0.2)],
        MEMORY: [1e9] * 39 + [1.1e9] * 21,
        "actor/entropy_loss": series(3, 40, 0.5),  # no direction is better
    }
    (change,) = changes_of(
        history(values, lambda number: {"torch_npu": "2.5.1" if number <= 40 else "2.7.1", "seed": str(number)})
    )
    assert (change.run.number, change.before.number, change.age, change.worse) == (41, 40, 20, True)
    assert [one.metric for one in change.metrics] == [HEADLINE, PHASE, MEMORY]
    assert abs(change.metrics[0].after / change.metrics[0].before - 1.1) < 0.01
    assert [(one.key, one.before, one.after) for one in change.differs] == [("torch_npu", "2.5.1", "2.7.1")]
    assert change.is_open


def test_times_are_named_once_and_by_what_they_add_to_a_step() -> None:
    """The reward doubled, to 0.8 ms; generation holds nearly all of the change, and its phase is its timer in ms."""
    gen, reward = series(2, 40, 0.1), [value * 1e-5 for value in series(3, 40, 1.0)]
    values = {
        HEADLINE: series(1, 40, 0.15),
        "timing_s/gen": gen,
        "phase.generate_sequences.wall": [value * 1e3 for value in gen],
        "timing_s/update_actor": [value / 10 for value in series(4, 40, 0.5)],
        "timing_s/reward": reward,
        "phase.reward.wall": [value * 1e3 for value in reward],
        "phase.adv.wall": [value * 1e3 for value in series(5, 40, 0.02)],
        MEMORY: [1e9] * 39 + [1.1e9] * 21,
    }
    found = history(values)
    told = tuple(one._replace(unit="ms") if one.metric.startswith("phase.") else one for one in found.series)
    (change,) = changes_of(replace(found, series=told))
    assert [one.metric for one in change.metrics] == [
        HEADLINE, "timing_s/gen", "timing_s/update_actor", "phase.adv.wall", MEMORY, "timing_s/reward"
    ]  # fmt: skip


def test_metrics_that_moved_with_a_young_change_are_told() -> None:
    """GIVEN 26 runs, too few to search 30 metrics, most that jump with the headline are listed, no other."""
    names = [f"phase.m{number}.wall" for number in range(4)]
    told: list[str] = []
    for seed in range(10):
        moving = {name: series(50_000 + 100 * seed + place, 21, 0.12, 26) for place, name in enumerate(names)}
        flat = {f"phase.p{place}.wall": series(1000 * seed + place, count=26) for place in range(26)}
        for change in changes_of(history({HEADLINE: series(seed, 21, 0.1, 26), **moving, **flat})):
            assert (change.run.number, change.metrics[0].metric, change.worse) == (22, HEADLINE, True)
            told += [one.metric for one in change.metrics[1:]]
    assert set(told) <= set(names)
    assert len(told) >= 24


def test_improvements_are_told_and_are_not_open() -> None:
    (change,) = changes_of(history({HEADLINE: series(1, 40, -0.1)}))
    assert change.worse is False
    assert not change.is_open


def test_a_change_that_was_undone_is_not_open() -> None:
    values = series(5)
    values[20:40] = [value * 1.1 for value in values[20:40]]
    values[50:] = [value * 1.3 for value in values[50:]]  # another change
    _, later, earlier = changes_of(history({HEADLINE: values}))
    assert (earlier.worse, earlier.undone, earlier.is_open, later.worse) == (True, True, False, False)


def test_another_metric_may_get_worse_alone() -> None:
    (change,) = changes_of(history({HEADLINE: series(1), MEMORY: [1e9] * 45 + [1.1e9] * 15}))
    assert (change.metrics[0].metric, change.worse, change.run.number) == (MEMORY, True, 46)


def test_more_tokens_are_not_slower() -> None:
    """GIVEN steps that grew with their tokens, that is more work; WHEN the time per token grew too, it is worse."""
    step, tokens = series(1, 30, 0.2), [8000.0] * 30 + [9600.0] * 30
    rate = [1e3 * time / count for time, count in zip(step, tokens, strict=True)]
    (change,) = changes_of(history({HEADLINE: step, TOKENS: tokens, TOKEN_RATE: rate}))
    assert change.worse is None
    slower = [time * (1.1 if place >= 30 else 1) for place, time in enumerate(step)]
    rate = [1e3 * time / count for time, count in zip(slower, tokens, strict=True)]
    (change,) = changes_of(history({HEADLINE: slower, TOKENS: tokens, TOKEN_RATE: rate}))
    assert (change.worse, change.metrics[0].metric) == (True, TOKEN_RATE)


def test_fewer_tokens_are_not_faster() -> None:
    """A fixed cost makes the time per token grow, so neither that nor a shorter step says anything."""
    tokens = [8000.0] * 30 + [6400.0] * 30
    for change, worse, decides in ((-0.1, None, TOKENS), (0.1, True, HEADLINE), (-0.4, False, TOKEN_RATE)):
        step = series(1, 30, change)
        rate = [1e3 * time / count for time, count in zip(step, tokens, strict=True)]
        (found,) = changes_of(history({HEADLINE: step, TOKENS: tokens, TOKEN_RATE: rate}))
        assert (found.worse, found.metrics[0].metric) == (worse, decides)


@pytest.mark.parametrize(
    ("metric", "change", "with_more", "with_fewer"),
    [
        ("critic/score/mean", -0.4, True, True),
        (MEMORY, 0.3, None, True),
        ("timing_s/update_actor", 0.3, None, True),
        ("timing_s/testing", 0.3, True, True),
        ("response/aborted_ratio", 0.3, True, True),
        ("perf/mfu/actor", -0.3, None, None),
        ("timing_per_token_ms/gen", 0.3, None, None),
    ],
)
def test_what_the_work_cannot_explain_is_worse(
    metric: str, change: float, with_more: bool | None, with_fewer: bool | None
) -> None:
    for factor, worse in ((1.1, with_more), (0.9, with_fewer)):
        tokens = [8000.0] * 30 + [8000.0 * factor] * 30
        values = [0.5 * (1 + change * (place >= 30)) for place in range(60)]
        (found,) = changes_of(history({HEADLINE: series(1), TOKENS: tokens, metric: values}))
        assert (found.worse, found.metrics[0].metric) == (worse, metric if worse else TOKENS)


def test_an_acknowledgement_counts_until_its_day_has_passed() -> None:
    """It also covers a change that more runs have moved by one."""
    flat = history({HEADLINE: series(1, 40, 0.1)})
    for number, expires, counts in (
        (41, TODAY, True),
        (40, "2027-01-01", True),
        (41, "2026-11-22", False),
        (38, "2027-01-01", False),
    ):
        row = Acknowledged(number, "needed", None, expires)
        (change,) = changes_of(replace(flat, acknowledged=(row,)))
        assert change.is_open is not counts, number
        assert (change.acknowledged == row) is counts
        assert (change.expired == row) is (expires < TODAY)


def test_an_acknowledgement_is_of_the_nearest_change() -> None:
    """That of a jump does not cover another metric that drifts soon after."""
    drift = [1e9 * (1 + 0.02 * max(0, place - 46)) for place in range(60)]
    found = history({HEADLINE: series(1, 40, 0.1), MEMORY: drift})
    both = {change.metrics[0].metric: change for change in changes_of(found)}
    assert both[MEMORY].metrics[0].gradual
    row = Acknowledged(both[HEADLINE].run.number, "needed", None, TODAY)
    assert {change.metrics[0].metric: change.is_open for change in changes_of(replace(found, acknowledged=(row,)))} == {
        HEADLINE: False,
        MEMORY: True,
    }


def test_of_several_acknowledgements_the_last_counts() -> None:
    flat = history({HEADLINE: series(1, 40, 0.1)})
    rows = (Acknowledged(40, "old", None, "2027-01-01", 1), Acknowledged(41, "new", None, "2026-11-22", 2))
    (change,) = changes_of(replace(flat, acknowledged=rows))
    assert (change.acknowledged, change.expired) == (None, rows[1])


def test_what_is_still_worse_names_the_change() -> None:
    """The step is as before from run 61 on, the memory is not."""
    values = series(1, 40, 0.08, count=80)
    step = [*values[:60], *(value / 1.08 for value in values[60:])]
    found = history({HEADLINE: step, MEMORY: [1e9] * 40 + [1.1e9] * 40})
    change = changes_of(found)[-1]
    assert (change.metrics[0].metric, change.is_open) == (MEMORY, True)
    assert {one.metric: one.undone for one in change.metrics} == {MEMORY: False, HEADLINE: True}


def test_a_drift_names_no_run_and_no_version() -> None:
    """Metrics that drift together are one change, which is accepted although its place moves."""
    drift = [value * (1 + 0.004 * max(0, place - 20)) for place, value in enumerate(series(1))]
    values = {HEADLINE: drift, PHASE: [value * 1.01**0.5 for value in drift[:-1]] + [30.0]}
    found = history(values, lambda number: {"torch_npu": "2.5.1" if number <= 40 else "2.7.1"})
    (change,) = changes_of(found)
    assert (change.worse, change.metrics[0].gradual, change.differs, len(change.metrics)) == (True, True, (), 2)
    row = Acknowledged(change.run.number + 5, "known", None, TODAY)
    (change,) = changes_of(replace(found, acknowledged=(row,)))
    assert not change.is_open


def test_what_differs_from_run_to_run_is_not_named() -> None:
    (change,) = changes_of(
        history(
            {HEADLINE: series(1, 40, 0.1)},
            lambda number: {"user.job": str(number), "vllm": "0.9" if number <= 40 else "0.10", "torch": "2.7"},
        )
    )
    assert [one.key for one in change.differs] == ["vllm"]


def test_too_few_runs_are_said() -> None:
    found = find_changes(history({HEADLINE: series(1, count=8)}), TODAY)
    assert [(one.runs, one.fewest, one.needed) for one in found.searched] == [(8, None, 17)]


@pytest.mark.parametrize(
    ("count", "others", "says"),
    [(22, 20, ", in other metrics 10 runs"), (20, 20, ", in other metrics from 22 runs on"), (22, 0, "")],
)
def test_how_long_a_change_must_have_lasted_is_said_of_the_other_metrics_too(
    count: int, others: int, says: str
) -> None:
    """They share their part of the odds. One that lasted as long as is said is found, a younger one is not."""
    flat = {f"phase.p{place}.wall": series(place, count=count) for place in range(max(others - 1, 0))}
    for lasted in (9, 10):
        memory = {MEMORY: [5e10] * (count - lasted) + [6e10] * lasted} if others else {}
        found = find_changes(history({HEADLINE: series(99, count=count), **flat, **memory}), TODAY)
        line = next(line.text for line in changes_lines(found, (), 30) if line.text.startswith("environment"))
        assert line.endswith(f"a change can be found once it has lasted 6 runs{says}")
        assert len(found.changes) == (count == 22 and others > 0 and lasted == 10)
