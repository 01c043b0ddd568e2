"""The ideal ranges of importance-sampling metrics."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Mapping

import pytest

from rlcompare.model.health import HealthRange, health_ranges, in_range

HEALTHY = {
    "mismatch/rollout_is_eff_sample_size": 0.97,
    "mismatch/rollout_is_mean": 1.002,
    "mismatch/rollout_is_p25": 0.95,
    "mismatch/rollout_is_p50": 1.0,
    "mismatch/rollout_is_p75": 1.05,
    "mismatch/rollout_is_p95": 1.3,
    "mismatch/rollout_is_p99": 1.6,
    "mismatch/rollout_is_max": 1.9,
    "mismatch/rollout_is_min": 0.6,
    "mismatch/rollout_is_veto_fraction": 0.0,
    "mismatch/rollout_is_catastrophic_token_fraction": 0.0,
}


def outside(metrics: Mapping[str, float]) -> list[HealthRange]:
    """The ranges that the metrics of a step leave, in a run that clips weights at 2."""
    return [entry for entry in health_ranges(2.0, mode="clip") if not in_range(metrics[entry.metric], entry)]


def test_a_healthy_step_has_every_metric_in_its_range() -> None:
    assert {entry.metric for entry in health_ranges(2.0, mode="clip")} == set(HEALTHY)
    assert outside(HEALTHY) == []


@pytest.mark.parametrize(
    ("metric", "value", "words"),
    [
        ("eff_sample_size", 0.8, ("rollout_is_threshold", "rollout_is_mode=clip", "rollout_is_level=sequence")),
        ("eff_sample_size", math.nan, ("rollout_is_threshold",)),
        ("mean", 1.2, ("dtype",)),
        ("p50", 0.85, ("dtype",)),
        ("p95", 2.0, ("rollout_is_threshold",)),
        ("max", 2.01, ("rollout_is_threshold",)),
        ("min", 0.4, ("lower bound",)),
        ("veto_fraction", 0.05, ("veto_threshold",)),
        ("catastrophic_token_fraction", 0.02, ("veto_threshold",)),
    ],
)
def test_a_metric_that_leaves_its_range_comes_with_advice(metric: str, value: float, words: tuple[str, ...]) -> None:
    (left,) = outside({**HEALTHY, f"mismatch/rollout_is_{metric}": value})
    assert left.metric == f"mismatch/rollout_is_{metric}"
    assert all(word in left.advice for word in words)


def test_the_largest_weight_may_equal_the_threshold() -> None:
    assert outside({**HEALTHY, "mismatch/rollout_is_max": 2.0}) == []


def test_ranges_follow_the_thresholds() -> None:
    by_metric = {entry.metric: entry for entry in health_ranges(5.0, 0.1, "clip")}
    assert by_metric["mismatch/rollout_is_max"].high == 5.0
    assert by_metric["mismatch/rollout_is_min"].low == 0.1
    assert {entry.metric: entry for entry in health_ranges(4.0, mode="clip")}["mismatch/rollout_is_min"].low == 0.25


def test_what_needs_a_threshold_is_left_out_without_one() -> None:
    metrics = {entry.metric for entry in health_ranges()}
    assert "mismatch/rollout_is_eff_sample_size" in metrics
    assert metrics.isdisjoint({"mismatch/rollout_is_max", "mismatch/rollout_is_p99", "mismatch/rollout_is_min"})
    assert "mismatch/rollout_is_min" not in {entry.metric for entry in health_ranges(2.0, mode="truncate")}


def test_the_table_needs_no_torch() -> None:
    code = "import sys, rlcompare.model.health; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
