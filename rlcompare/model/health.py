"""Ideal ranges of the rollout importance-sampling metrics, and advice for metrics outside them. Does not import torch.

The ranges and the advice are those of verl's Rollout Importance Sampling framework. Where it says "about 1.0" without
a width, ABOUT is our choice.
"""

from __future__ import annotations

from dataclasses import dataclass

ABOUT = 0.1

_TUNE = (
    "raise algorithm.rollout_is_threshold; try algorithm.rollout_is_mode=clip with a lower bound "
    "(algorithm.rollout_is_threshold_lower); try algorithm.rollout_is_level=sequence"
)
_APART = (
    "rollout and training give different probabilities to the same tokens: compare their dtypes, temperatures and "
    "versions (actor_rollout_ref.rollout.dtype); then " + _TUNE
)
_CATASTROPHIC = (
    "single tokens have a ratio below algorithm.rollout_is_veto_threshold: check for corrupt data, a different "
    "tokenizer or numerical errors in the rollout before lowering that threshold"
)


@dataclass(frozen=True)
class HealthRange:
    """The ideal range of one metric.

    Attributes:
        metric: the key in metrics.jsonl, such as ``mismatch/rollout_is_mean``.
        ideal: the range in words, such as ``> 0.8``.
        low, high: its ends; None: no limit on that side.
        inclusive: whether the ends belong to it.
        advice: what to try if the metric is outside its range.
    """

    metric: str
    ideal: str
    low: float | None
    high: float | None
    inclusive: bool
    advice: str


def health_ranges(
    threshold: float | None = None, threshold_lower: float | None = None, mode: str = "truncate"
) -> tuple[HealthRange, ...]:
    """The ideal ranges under ``algorithm.rollout_is_*``.

    Args:
        threshold: the upper bound of the weights; None (off or unknown): ranges that end at it are omitted.
        threshold_lower: the lower bound; None: 1/threshold, as in verl.
        mode: truncate or clip; only clip applies the lower bound to the weights.
    """
    ranges = [
        HealthRange(_key("eff_sample_size"), "> 0.8", 0.8, None, False, _TUNE),
        _about("mean", 1 - ABOUT, 1 + ABOUT, "about 1.0", _APART),
        _about("p25", 0.8, 1 + ABOUT, "about 0.8 to 1.0", _APART),
        _about("p50", 1 - ABOUT, 1 + ABOUT, "about 1.0", _APART),
        _about("p75", 1 - ABOUT, 1.2, "about 1.0 to 1.2", _APART),
        HealthRange(_key("veto_fraction"), "< 5 %", None, 0.05, False, _CATASTROPHIC),
        HealthRange(_key("catastrophic_token_fraction"), "< 1 %", None, 0.01, False, _CATASTROPHIC),
    ]
    if threshold is not None:
        below = f"< {threshold:g} (the threshold)"
        ranges += [
            HealthRange(_key("p95"), below, None, threshold, False, _TUNE),
            HealthRange(_key("p99"), below, None, threshold, False, _TUNE),
            HealthRange(_key("max"), f"<= {threshold:g} (the threshold)", None, threshold, True, _TUNE),
        ]
        if mode == "clip":
            lower = 1 / threshold if threshold_lower is None else threshold_lower
            text = f">= {lower:g} (the lower threshold)"
            ranges.append(HealthRange(_key("min"), text, lower, None, True, _TUNE))
    return tuple(ranges)


def in_range(value: float, entry: HealthRange) -> bool:
    """Whether the value is in its range. NaN never is."""
    if value != value:
        return False
    above = entry.low is None or value > entry.low or (entry.inclusive and value == entry.low)
    below = entry.high is None or value < entry.high or (entry.inclusive and value == entry.high)
    return above and below


def _key(name: str) -> str:
    return f"mismatch/rollout_is_{name}"


def _about(name: str, low: float, high: float, ideal: str, advice: str) -> HealthRange:
    return HealthRange(_key(name), ideal, low, high, True, advice)
