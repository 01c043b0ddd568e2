"""Ranges of the metrics that tell how far the rollout is from the trainer, and what to try outside. No torch here.

verl documents them for each of its two frameworks, which the key of a metric distinguishes:

* ``mismatch/…`` (0.6.0, and ``rlcompare run``): ideal ranges. Where the document says "about 1.0" without a width,
  ABOUT is our choice.
* ``rollout_corr/…`` (since 0.6.1; in bypass mode ``actor/rollout_corr/…``): beyond what verl's document on rollout
  correction warns of. It calls an effective sample size alarming below 0.3; the ideal is still that of 0.6.0. Weights
  of whole sequences are products over tokens: their spread and effective sample size have no documented range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

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

_CORRECTION = "algorithm.rollout_correction."
_TIGHTEN = (
    f"tighten {_CORRECTION}rollout_is_threshold; reject the worst tokens or sequences ({_CORRECTION}rollout_rs with "
    f"{_CORRECTION}rollout_rs_threshold)"
)
_CHECK = (
    "check that rollout and training have the same weights, dtype and sampling settings "
    "(actor_rollout_ref.rollout.dtype, actor_rollout_ref.rollout.calculate_log_probs=True)"
)
_DRIFT = f"in bypass mode this includes the update itself: compare with {_CORRECTION}bypass_mode=False"
_VETOED = (
    f"single tokens have a ratio below {_CORRECTION}rollout_token_veto_threshold: check for corrupt data, a different "
    "tokenizer or numerical errors in the rollout before lowering that threshold"
)

CORRECTION, BYPASS, FIRST = "rollout_corr/", "actor/rollout_corr/", "mismatch/"
PROBS_DIFFERENCE = "training/rollout_probs_diff_mean"
_WITH_RANGES = (CORRECTION, BYPASS, FIRST, PROBS_DIFFERENCE)


@dataclass(frozen=True)
class HealthRange:
    """The range of one metric.

    Attributes:
        metric: the key in the log, such as ``mismatch/rollout_is_mean``.
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


def health_range(metric: str, settings: Mapping[str, str]) -> HealthRange | None:
    """The range of a metric under these settings of its run; None if it has none, or if a threshold is unknown.

    Args:
        metric: its key as it was logged, which tells verl's framework.
        settings: verl's configuration by dotted key.
    """
    if not metric.startswith(_WITH_RANGES):  # nearly all
        return None
    return next((entry for entry in _ranges(metric, settings) if entry.metric == metric), None)


def range_as_logged(name: str, logged_as: str, settings: Mapping[str, str]) -> HealthRange | None:
    """The range of a metric by its name in the log, which tells verl's release; else by its canonical one."""
    return health_range(logged_as if "/" in logged_as else name, settings)


def _ranges(metric: str, settings: Mapping[str, str]) -> tuple[HealthRange, ...]:
    if metric.startswith(FIRST):
        lower, upper = bounds(settings.get("algorithm.rollout_is_threshold"))
        own_lower = bounds(settings.get("algorithm.rollout_is_threshold_lower"))[1]
        mode, level = (settings.get(f"algorithm.rollout_is_{name}", "") for name in ("mode", "level"))
        return health_ranges(upper, lower if own_lower is None else own_lower, mode, of_sequences=level == "sequence")
    of_sequences = settings.get(f"{_CORRECTION}rollout_is") == "sequence"
    return correction_ranges(of_sequences=of_sequences, bypass=metric.startswith(BYPASS))


@cache
def health_ranges(
    threshold: float | None = None,
    threshold_lower: float | None = None,
    mode: str = "truncate",
    *,
    of_sequences: bool = False,
) -> tuple[HealthRange, ...]:
    """The ideal ranges of 0.6.0 under ``algorithm.rollout_is_*``.

    Args:
        threshold: the upper bound of the weights; None (off or unknown): ranges that end at it are omitted.
        threshold_lower: the lower bound; None: 1/threshold, as in verl.
        mode: truncate or clip; only clip applies the lower bound to the weights.
        of_sequences: whether weights are those of whole sequences: how far these are from 1 has no documented width.
    """
    ranges = [
        HealthRange(_key("eff_sample_size"), "> 0.8", 0.8, None, False, _TUNE),
        HealthRange(_key("veto_fraction"), "< 5 %", None, 0.05, False, _CATASTROPHIC),
        HealthRange(_key("catastrophic_token_fraction"), "< 1 %", None, 0.01, False, _CATASTROPHIC),
    ]
    if not of_sequences:
        ranges += [
            _about("mean", 1 - ABOUT, 1 + ABOUT, "about 1.0", _APART),
            _about("p25", 0.8, 1 + ABOUT, "about 0.8 to 1.0", _APART),
            _about("p50", 1 - ABOUT, 1 + ABOUT, "about 1.0", _APART),
            _about("p75", 1 - ABOUT, 1.2, "about 1.0 to 1.2", _APART),
        ]
    if threshold is not None:
        below = f"< {threshold:g} (the threshold)"
        ranges += [
            HealthRange(_key("p95"), below, None, threshold, False, _TUNE),
            HealthRange(_key("p99"), below, None, threshold, False, _TUNE),
            HealthRange(_key("max"), f"<= {threshold:g} (the threshold)", None, threshold, True, _TUNE),
        ]
        if mode == "clip" and (threshold or threshold_lower is not None):  # 1 / 0 is no limit
            lower = 1 / threshold if threshold_lower is None else threshold_lower
            text = f">= {lower:g} (the lower threshold)"
            ranges.append(HealthRange(_key("min"), text, lower, None, True, _TUNE))
    return tuple(ranges)


@cache
def correction_ranges(*, of_sequences: bool = False, bypass: bool = False) -> tuple[HealthRange, ...]:
    """The ranges since 0.6.1, and that of the mean difference of probabilities, which verl logs in any mode.

    Args:
        of_sequences: whether weights are those of whole sequences (``algorithm.rollout_correction.rollout_is``).
        bypass: whether the metrics are those of bypass mode, where the policy is compared while it is updated.
    """
    ranges = [
        HealthRange("rollout_is_mean", "0.5 to 2.0", 0.5, 2.0, True, f"{_CHECK}; {_TIGHTEN}"),
        HealthRange("kl", "-0.1 to 0.1", -0.1, 0.1, True, f"{_CHECK}; {_TIGHTEN}"),
        HealthRange("chi2_token", "< 1", None, 1.0, False, _TIGHTEN),
        HealthRange("rollout_is_veto_fraction", "< 10 %", None, 0.1, False, _VETOED),
    ]
    if not of_sequences:
        ranges += [
            HealthRange("rollout_is_eff_sample_size", "> 0.8", 0.8, None, False, _TIGHTEN),
            HealthRange("rollout_is_std", "< 1", None, 1.0, False, _TIGHTEN),
        ]
    prefix = BYPASS if bypass else CORRECTION
    after = f"; {_DRIFT}" if bypass else ""
    placed = [replace(entry, metric=prefix + entry.metric, advice=entry.advice + after) for entry in ranges]
    difference = HealthRange(PROBS_DIFFERENCE, "< 0.01", None, 0.01, False, _CHECK)
    return (*placed, difference)


def bounds(threshold: str | None) -> tuple[float | None, float | None]:
    """Lower and upper bound of a threshold: ``2.0`` has no lower one, ``0.5_2`` is from 0.5 to 2.

    None for both if it is off or unknown, or if the runs of a side differ.
    """
    parts = (threshold or "").split("_")  # float("0.5_2") would be 0.52
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        return None, None
    if not all(map(math.isfinite, numbers)):
        return None, None
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (None, numbers[0]) if len(numbers) == 1 else (None, None)


def in_range(value: float, entry: HealthRange) -> bool:
    """Whether the value is in its range. NaN never is."""
    if value != value:
        return False
    above = entry.low is None or value > entry.low or (entry.inclusive and value == entry.low)
    below = entry.high is None or value < entry.high or (entry.inclusive and value == entry.high)
    return above and below


def _key(name: str) -> str:
    return f"{FIRST}rollout_is_{name}"


def _about(name: str, low: float, high: float, ideal: str, advice: str) -> HealthRange:
    return HealthRange(_key(name), ideal, low, high, True, advice)
