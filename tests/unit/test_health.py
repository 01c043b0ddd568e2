"""The ideal ranges of importance-sampling metrics."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Mapping

import pytest

from rlcompare.compare.training import health_columns
from rlcompare.model.health import HealthRange, bounds, health_range, health_ranges, in_range
from rlcompare.model.words import SideName

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


CORRECTION = "algorithm.rollout_correction."


@pytest.mark.parametrize(
    ("metric", "settings", "good", "bad", "words"),
    [
        ("rollout_corr/rollout_is_eff_sample_size", {}, 0.85, 0.62, "tighten algorithm.rollout_correction.rollout_is_"),
        ("rollout_corr/rollout_is_mean", {}, 1.9, 2.1, "calculate_log_probs"),
        ("rollout_corr/rollout_is_mean", {f"{CORRECTION}rollout_is": "sequence"}, 0.6, 0.4, "rollout_rs"),
        ("rollout_corr/rollout_is_std", {f"{CORRECTION}rollout_is": "token"}, 0.9, 1.1, "tighten"),
        ("rollout_corr/kl", {}, -0.09, -0.2, "dtype"),
        ("rollout_corr/chi2_token", {}, 0.5, 1.5, "tighten"),
        ("rollout_corr/rollout_is_veto_fraction", {}, 0.09, 0.2, "rollout_token_veto_threshold"),
        ("actor/rollout_corr/kl", {}, 0.05, 0.2, "bypass_mode=False"),
        ("training/rollout_probs_diff_mean", {}, 0.004, 0.02, "dtype"),
        ("mismatch/rollout_is_eff_sample_size", {}, 0.85, 0.75, "algorithm.rollout_is_mode=clip"),
        ("mismatch/rollout_is_max", {"algorithm.rollout_is_threshold": "0.5_2"}, 1.9, 2.1, "raise"),
    ],
)
def test_ranges_and_advice_are_those_of_the_release(
    metric: str, settings: dict[str, str], good: float, bad: float, words: str
) -> None:
    entry = health_range(metric, settings)
    assert entry is not None
    assert in_range(good, entry)
    assert not in_range(bad, entry)
    assert words in entry.advice
    assert ("algorithm.rollout_correction" in entry.advice) == ("rollout_corr/" in metric)


@pytest.mark.parametrize(
    ("metric", "settings"),
    [
        ("rollout_corr/rollout_is_eff_sample_size", {f"{CORRECTION}rollout_is": "sequence"}),
        ("rollout_corr/rollout_is_std", {f"{CORRECTION}rollout_is": "sequence"}),
        ("rollout_corr/chi2_seq", {}),
        ("rollout_corr/rollout_is_max", {f"{CORRECTION}rollout_is_threshold": "2.0"}),
        ("rollout_corr/rollout_rs_token_k1_mean", {}),
        ("mismatch/rollout_is_max", {}),
    ],
)
def test_what_has_no_documented_range_is_not_judged(metric: str, settings: dict[str, str]) -> None:
    assert health_range(metric, settings) is None


def test_thresholds_may_be_ranges() -> None:
    assert bounds("2.0") == (None, 2.0)
    assert bounds("0.5_2") == (0.5, 2.0)
    for text in (None, "", "null", "0.5_1_2", "2.0, 5.0"):
        assert bounds(text) == (None, None)


def test_each_side_is_judged_by_the_ranges_of_its_own_release() -> None:
    """A mean weight of 1.5 is far from 1.0 for 0.6.0's document; that of later releases warns from 2 on."""
    name = "mismatch/rollout_is_mean"
    logged: dict[SideName, str] = {"baseline": name, "new": "rollout_corr/rollout_is_mean"}
    columns = health_columns(name, {"baseline": 1.5, "new": 1.5}, {"baseline": {}, "new": {}}, logged)
    assert columns == {"ideal": "0.5 to 2.0", "baseline_health": "outside", "new_health": "healthy"}


def test_the_table_needs_no_torch() -> None:
    code = "import sys, rlcompare.model.health; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
