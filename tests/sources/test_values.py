"""Values added step by step are what they are when they are added one by one."""

from __future__ import annotations

import math
from dataclasses import fields

from hypothesis import given
from hypothesis import strategies as st

from rlcompare.sources.metrics.values import Metrics

NAMES = st.sampled_from(["timing_s/step", "actor/pg_loss", "perf/total_num_tokens", "workload.x", "a\0b", "\ud800", ""])
NUMBERS = st.floats() | st.integers(-(10**400), 10**400) | st.sampled_from([0, 1, -1, 1e-12, 1e101, 1e300])
OTHERS = st.none() | st.booleans() | st.sampled_from(["1.5", "np.float64(2)", "x", "-inf"]) | st.lists(st.integers())
STEPS = st.lists(st.dictionaries(NAMES | st.text(max_size=3), NUMBERS | OTHERS), max_size=5)


def shown(metrics: Metrics) -> list[str]:
    """All that is public, as text: NaN is not equal to itself."""
    own = [field.name for field in fields(Metrics) if not field.name.startswith("_") and field.name != "names"]
    return [f"{name}: {getattr(metrics, name)}" for name in own if name != "metrics"] + [f"{list(metrics.rows())}"]


@given(STEPS)
def test_a_step_is_its_values(steps: list[dict[str, object]]) -> None:
    together, alone = Metrics(), Metrics()

    for number, step in enumerate(steps, 1):
        together.add_step(number, 10 * number, step)
        for name, value in step.items():
            alone.add(number, 10 * number, name, value)

    assert shown(together) == shown(alone)


def test_rows_that_are_kept() -> None:
    metrics = Metrics()
    for step in range(4):
        metrics.add_step(step, step, {"a": float(step), "b": None})

    metrics.keep([1, 2, 6])
    metrics.add(9, 9, "c", math.pi)

    assert list(metrics.rows()) == [(0, 0, "b", None), (1, 1, "a", 1.0), (3, 3, "a", 3.0), (9, 9, "c", math.pi)]
