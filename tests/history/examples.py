"""Series and histories with known changes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from rlcompare.compare.names import unit_of
from rlcompare.history.records import OK, Acknowledged, NewRun, Run, Series, Setting
from rlcompare.history.store import History

HEADLINE = "timing_s/step"
HOUR_NS = 3600 * 10**9


def noisy(
    rng: random.Random, count: int, noise: float, slow: float = 0.0, *, at: int | None = None, change: float = 0.0
) -> list[float]:
    """Values of runs around 30, a part of them slower by 20 %, all from ``at`` on changed."""
    return [
        30
        * (1 + noise * rng.gauss(0, 1))
        * (1.2 if rng.random() < slow else 1)
        * (1 + change if at is not None and place >= at else 1)
        for place in range(count)
    ]


def history(
    values: Mapping[str, Sequence[float]],
    settings: Callable[[int], Mapping[str, str]] = lambda number: {},
    acknowledged: Sequence[Acknowledged] = (),
) -> History:
    """Runs from 1 on, one an hour, with these values of metrics."""
    count = max(map(len, values.values()))
    runs = [
        Run(f"{number:032x}", number, f"run{number}", number * HOUR_NS, True, None,
            f"{number:04x}".ljust(40, "0"), None, False, OK, None, HEADLINE, "environ")
        for number in range(1, count + 1)
    ]  # fmt: skip
    series = [
        Series("environ", name, unit_of(name), list(range(1, len(of) + 1)), list(of)) for name, of in values.items()
    ]
    given = [
        Setting(number, key, value, False)
        for number in range(1, count + 1)
        for key, value in sorted(settings(number).items())
    ]
    return History(tuple(runs), tuple(series), tuple(given), tuple(acknowledged))


def new_run(number: int, metrics: Mapping[str, float] | None = None, *, status: str = OK, **settings: str) -> NewRun:
    """A run to add; each number is another content."""
    given = {HEADLINE: 30.0 + number % 7 / 10, "timing_s/gen": 10.0} if metrics is None else metrics
    return NewRun(
        content=f"{number:032x}",
        name=f"run{number}",
        started_ns=1_760_000_000 * 10**9 + number * HOUR_NS,
        label=None,
        commit_id=f"{number:04x}".ljust(40, "0"),
        author=None,
        dirty=False,
        status=status,
        reason=None if status == OK else "it failed at step 3",
        headline=HEADLINE,
        metrics=tuple((name, "s", value) for name, value in given.items()),
        settings={"chip": "910B", "torch_npu": "2.7.1", **settings},
    )
