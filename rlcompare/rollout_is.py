"""Rollout importance sampling: weights that correct for the rollout's probabilities being other than training's.

The framework that verl merged under this name (levels token, sequence and geometric; modes truncate and clip), with its
metric names. Its metrics are of the whole global batch: effective sample size and percentiles cannot be averaged over
ranks, so gather the rows first and compute once.

Rows are visited in chunks that fit a cache, and a chunk leaves one number per row and metric, so beside the weights
nothing as large as the batch is ever held. On a CPU one thread does it: chunks are too small to share, and where other
processes use the cores, threads that wait for each other after every operation cost many times the work. All metrics
leave the device in one transfer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

LEVELS = ("token", "sequence", "geometric")
MODES = ("truncate", "clip")
PERCENTILES = (25, 50, 75, 95, 99)
SAFETY_BOUND = 20.0
"""Largest absolute log ratio that is exponentiated: e^20 is about 4.9e8."""

CHUNK_ELEMENTS = 1 << 16
CHUNK_ELEMENTS_DEVICE = 1 << 22
_EPSILON = 1e-8
_DIGIT_BITS = 11
_EMPTY = "response_mask has no valid token: there is nothing to compute importance weights of"

Rows = Mapping[str, Tensor]


@dataclass(frozen=True)
class _Bounds:
    """The limits of one call, and the veto's as a logarithm (None: no veto)."""

    lower: float
    upper: float
    log_veto: float | None


def compute_rollout_is(
    old_log_prob: Tensor,
    rollout_log_prob: Tensor,
    response_mask: Tensor,
    *,
    level: str,
    mode: str,
    threshold: float | None,
    threshold_lower: float | None = None,
    veto_threshold: float | None = 1e-4,
) -> tuple[Tensor | None, dict[str, float]]:
    """Weights exp(old_log_prob − rollout_log_prob), aggregated and bounded, and the metrics of the mismatch.

    Args:
        old_log_prob, rollout_log_prob: (N, R), log-probabilities of the training policy and of the rollout.
        response_mask: (N, R), nonzero where a token counts; what the others hold, NaN included, is ignored.
        level: token (a ratio per token), sequence (their product per row) or geometric (their geometric mean).
        mode: truncate (weights above the threshold are cut to it) or clip (weights outside the thresholds become 0).
        threshold: the upper bound; None: off.
        threshold_lower: the lower bound; None: 1/threshold.
        veto_threshold: rows with a valid token of a smaller ratio get weight 0; None: none do.

    Returns:
        Weights (N, R), 0 where the mask is, without gradient, and the metrics under verl's names (``mismatch/…``),
        which describe the weights before bounding. (None, {}) where the threshold is None.

    Raises:
        ValueError: an unknown level or mode, an impossible threshold, or shapes that differ.
        AssertionError: no valid token at all, as in verl.
    """
    if threshold is None:
        return None, {}
    bounds = _check(level, mode, threshold, threshold_lower, veto_threshold)
    _check_shapes(old_log_prob, rollout_log_prob, response_mask)
    with torch.no_grad(), _one_thread():
        weights, rows = _visit(old_log_prob, rollout_log_prob, response_mask, level, bounds)
        metrics = _metrics(rows, level, mode, bounds)
        metrics |= _percentiles(weights, response_mask, rows, level)
        _bound(weights, response_mask, rows, level, mode, bounds)
        return weights, _transfer(metrics, rows["n"].sum())


@contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _check(level: str, mode: str, upper: float, lower: float | None, veto: float | None) -> _Bounds:
    if level not in LEVELS:
        raise ValueError(f"rollout_is_level is {level!r}; it must be one of {', '.join(LEVELS)}")
    if mode not in MODES:
        raise ValueError(f"rollout_is_mode is {mode!r}; it must be one of {', '.join(MODES)}")
    if not upper > 0:
        raise ValueError(f"rollout_is_threshold is {upper}; it must be above 0, or null to switch the weights off")
    if lower is not None and not lower >= 0:
        raise ValueError(f"rollout_is_threshold_lower is {lower}; it must not be negative")
    if veto is not None and not veto >= 0:
        raise ValueError(f"rollout_is_veto_threshold is {veto}; it must not be negative, or null for no veto")
    return _Bounds(1 / upper if lower is None else lower, upper, None if veto is None else _log(veto))


def _check_shapes(*tensors: Tensor) -> None:
    shapes = [tuple(tensor.shape) for tensor in tensors]
    if len(set(shapes)) > 1 or len(shapes[0]) != 2:
        raise ValueError(f"old_log_prob, rollout_log_prob and response_mask must share one (N, R) shape, not {shapes}")
    if 0 in shapes[0]:
        raise AssertionError(_EMPTY)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _chunks(tensor: Tensor) -> Iterator[slice]:
    """Slices of rows, small enough for a processor's cache, or large enough to keep an accelerator busy."""
    elements = CHUNK_ELEMENTS if tensor.device.type == "cpu" else CHUNK_ELEMENTS_DEVICE
    step = max(1, elements // tensor.shape[1])
    return (slice(start, start + step) for start in range(0, tensor.shape[0], step))


def _visit(old: Tensor, rollout: Tensor, mask: Tensor, level: str, bounds: _Bounds) -> tuple[Tensor, Rows]:
    """The raw weights (of tokens only at that level, else empty), and per row (N,) everything that the metrics need.

    ``sum_d`` and the like are sums over a row's valid tokens of w − 1, which is 0 in padding and loses no digits where
    the weights are near 1; ``c`` stands for the weight clamped to the bounds.
    """
    dtype = torch.promote_types(torch.promote_types(old.dtype, rollout.dtype), torch.float32)
    weights = torch.empty(old.shape, dtype=dtype, device=old.device)
    rows: dict[str, Tensor] = {}
    for part in _chunks(old):
        valid = mask[part].bool()
        train = torch.where(valid, old[part], 0.0).to(dtype)
        other = torch.where(valid, rollout[part], 0.0).to(dtype)
        log_ratio = train - other
        sums = _log_sums(train, other, log_ratio, valid, bounds)
        if level == "token":
            sums |= _token_sums(log_ratio, valid, bounds, weights[part])
        for name, value in sums.items():  # copied, because what is kept of each chunk would leave holes in the heap
            rows.setdefault(name, value.new_empty(len(old)))[part] = value
    if level != "token":
        rows |= _row_sums(rows, level, bounds)
    return weights, rows


def _log_sums(train: Tensor, other: Tensor, log_ratio: Tensor, valid: Tensor, bounds: _Bounds) -> dict[str, Tensor]:
    n = valid.sum(-1)
    catastrophic = torch.zeros_like(n)
    if bounds.log_veto is not None:
        catastrophic = ((log_ratio < bounds.log_veto) & valid).sum(-1)
    return {
        "n": n,
        "catastrophic": catastrophic,
        "sum_train": train.sum(-1),
        "sum_rollout": other.sum(-1),
        "sum_log": log_ratio.sum(-1),
        "sum_k3": torch.expm1(log_ratio).sub_(log_ratio).sum(-1),
    }


def _token_sums(log_ratio: Tensor, valid: Tensor, bounds: _Bounds, out: Tensor) -> dict[str, Tensor]:
    weight = torch.exp(log_ratio.clamp_(-SAFETY_BOUND, SAFETY_BOUND), out=out)
    clamped = weight.clamp(bounds.lower, bounds.upper).sub_(1).mul_(valid)
    return {
        "sum_d": (weight - 1).sum(-1),
        "sum_c": clamped.sum(-1),
        "sum_c2": clamped.square_().sum(-1),
        "high": ((weight > bounds.upper) & valid).sum(-1),
        "low": ((weight < bounds.lower) & valid).sum(-1),
        "max": weight.masked_fill(~valid, -math.inf).amax(-1),
        "min": weight.masked_fill(~valid, math.inf).amin(-1),
    }


def _row_sums(rows: Rows, level: str, bounds: _Bounds) -> dict[str, Tensor]:
    """The same, where all of a row's tokens have one weight."""
    n = rows["n"]
    log_ratio = rows["sum_log"] if level == "sequence" else rows["sum_log"] / n.clamp(min=1)
    weight = log_ratio.clamp(-SAFETY_BOUND, SAFETY_BOUND).exp_()
    clamped = weight.clamp(bounds.lower, bounds.upper) - 1
    return {
        "weight": weight,
        "sum_d": (weight - 1) * n,
        "sum_c": clamped * n,
        "sum_c2": clamped.square() * n,
        "high": log_ratio > _log(bounds.upper),
        "low": log_ratio < _log(bounds.lower),
        "max": log_ratio.clamp(max=SAFETY_BOUND).exp_(),
        "min": log_ratio.exp(),
    }


def _fraction(count: Tensor, total: Tensor | int) -> Tensor:
    """A share, in float32 whatever the inputs are, as verl takes it."""
    return count.to(torch.float32) / total


def _metrics(rows: Rows, level: str, mode: str, bounds: _Bounds) -> dict[str, Tensor]:
    """Every metric but the percentiles, each a tensor of one number."""
    n = rows["n"].sum()
    metrics = {
        "rollout_is_veto_fraction": (rows["catastrophic"] > 0).float().mean(),
        "rollout_is_catastrophic_token_fraction": _fraction(rows["catastrophic"].sum(), n),
        "rollout_is_max": rows["max"].max(),
        "rollout_is_min": rows["min"].min(),
        "rollout_is_mean": 1 + rows["sum_d"].sum() / n,
    }
    for name in ("high", "low"):
        if level == "sequence":
            share = rows[name].float().mean()
        else:
            share = _fraction((rows[name] * rows["n"] if level == "geometric" else rows[name]).sum(), n)
        metrics[f"rollout_is_ratio_fraction_{name}"] = share
    mean = rows["sum_c"].sum() / n
    variance = (rows["sum_c2"].sum() / n - mean.square()).clamp(min=0)
    mean = mean + 1
    metrics["rollout_is_std"] = variance.sqrt()
    metrics["rollout_is_eff_sample_size"] = (mean + _EPSILON).square() / (variance + mean.square())
    metrics |= _sequence_metrics(rows, bounds)
    if mode == "clip":
        metrics |= _clip_metrics(rows, level, bounds)
    return metrics | _mismatch_metrics(rows, n)


def _sequence_metrics(rows: Rows, bounds: _Bounds) -> dict[str, Tensor]:
    """Statistics of each row's mean weight; a row without a valid token has 0, as verl has it."""
    n = rows["n"]
    mean = torch.where(n > 0, 1 + rows["sum_d"] / n.clamp(min=1), 0.0)
    return {
        "rollout_is_seq_mean": mean.mean(),
        "rollout_is_seq_std": mean.std() if len(mean) > 1 else torch.zeros_like(mean[0]),
        "rollout_is_seq_max": mean.max(),
        "rollout_is_seq_min": mean.min(),
        "rollout_is_seq_max_deviation": (mean - 1).abs().max(),
        "rollout_is_seq_fraction_high": (mean > bounds.upper).float().mean(),
        "rollout_is_seq_fraction_low": (mean < bounds.lower).float().mean(),
    }


def _clip_metrics(rows: Rows, level: str, bounds: _Bounds) -> dict[str, Tensor]:
    # Where the lower bound is above the upper one (1/threshold, for a threshold below 1), a weight can exceed both
    # bounds, and every weight exceeds one: each token counts once.
    high_and_low = (rows["high"] + rows["low"]).minimum(rows["n"])
    tokens = high_and_low if level == "token" else _outside(rows["weight"], bounds) * rows["n"]
    clipped = tokens > 0 if level == "token" else _outside(rows["weight"], bounds)
    return {
        "rollout_is_clipped_fraction": _fraction(tokens.sum(), rows["n"].sum()),
        "rollout_is_seq_clipped_fraction": clipped.float().mean(),
    }


def _mismatch_metrics(rows: Rows, n: Tensor) -> dict[str, Tensor]:
    """KL estimates over tokens; perplexities of rows and their ratios, averaged over rows."""
    per_row = rows["n"].clamp(min=1)
    train, rollout = rows["sum_train"] / per_row, rows["sum_rollout"] / per_row
    difference = -rows["sum_log"] / per_row
    return {
        "mismatch_training_ppl": torch.exp(-train).mean(),
        "mismatch_training_log_ppl": (-train).mean(),
        "mismatch_kl": -rows["sum_log"].sum() / n,
        "mismatch_k3_kl": rows["sum_k3"].sum() / n,
        "mismatch_rollout_ppl": torch.exp(-rollout).mean(),
        "mismatch_rollout_log_ppl": (-rollout).mean(),
        "mismatch_log_ppl_diff": difference.mean(),
        "mismatch_log_ppl_abs_diff": difference.abs().mean(),
        "mismatch_log_ppl_diff_max": difference.max(),
        "mismatch_log_ppl_diff_min": difference.min(),
        "mismatch_ppl_ratio": torch.exp(difference).mean(),
    }


def _percentiles(weights: Tensor, mask: Tensor, rows: Rows, level: str) -> dict[str, Tensor]:
    """Percentiles of the raw weights over valid tokens, with linear interpolation; NaN where one weight is NaN."""
    n = rows["n"].sum()
    hundredths = torch.tensor(PERCENTILES, device=weights.device) * (n - 1).clamp(min=0)
    below = hundredths // 100
    ranks = torch.cat([below, (below + 1).minimum(n - 1).clamp(min=0)])
    if level == "token" and weights.numel() <= CHUNK_ELEMENTS:
        values = torch.where(mask.bool(), weights, math.inf).flatten().sort().values[ranks]
    elif level == "token":
        values = _select(weights, mask, ranks)
    else:
        ordered, order = rows["weight"].sort()
        places = torch.searchsorted(rows["n"][order].cumsum(0), ranks, right=True)
        values = ordered[places.clamp(max=len(ordered) - 1)]
    low, high = values.chunk(2)
    found = torch.lerp(low, high, (hundredths % 100).to(values.dtype) / 100)
    found = torch.where(rows["sum_d"].sum().isnan(), math.nan, found)
    return {f"rollout_is_p{q}": value for q, value in zip(PERCENTILES, found, strict=True)}


def _select(values: Tensor, mask: Tensor, ranks: Tensor) -> Tensor:
    """The values (positive, any NaN last) at 0-based ranks among the valid ones, exactly and without sorting them.

    The bits of positive floats order as the floats do, so each pass counts one digit of those bits among the values
    that share their leading digits with one of the results. A table leads from (slot, digit) to the slot of the next
    pass; the last slot takes all values that are no longer looked for.
    """
    bits = values.view(torch.int32 if values.dtype == torch.float32 else torch.int64)
    count, base = len(ranks), 1 << _DIGIT_BITS
    slots = torch.zeros_like(ranks)
    found = torch.zeros_like(ranks)
    tables: list[tuple[int, Tensor]] = []
    end = bits.element_size() * 8
    while end > 0:
        shift = max(0, end - _DIGIT_BITS)
        counts = torch.zeros((count + 1) * base, dtype=torch.int32, device=values.device)
        for part in _chunks(values):
            keys = _keys(bits[part], tables, shift, base)
            counts.scatter_add_(0, keys.flatten(), mask[part].bool().to(torch.int32).flatten())
        running = counts.view(count + 1, base)[slots].cumsum(-1)
        digits = (running <= ranks[:, None]).sum(-1).clamp(max=base - 1)
        before = torch.where(digits > 0, running.gather(1, (digits - 1).clamp(min=0)[:, None])[:, 0], 0)
        ranks = ranks - before
        found = (found << (end - shift)) | digits
        table = torch.full(((count + 1) * base,), count, device=values.device)
        table[slots * base + digits] = torch.arange(count, device=values.device)
        slots = table[slots * base + digits]
        tables.append((shift, table))
        end = shift
    return found.to(bits.dtype).view(values.dtype)


def _keys(bits: Tensor, tables: list[tuple[int, Tensor]], shift: int, base: int) -> Tensor:
    """slot * base + digit of each value, for the digit above ``shift``; the earlier digits' tables lead to the slot."""
    slot: Tensor | int = 0
    end = bits.element_size() * 8
    for place, table in tables:
        slot = table[_digit(bits, place, end) + slot * base]
        end = place
    return _digit(bits, shift, end) + slot * base


def _digit(bits: Tensor, shift: int, end: int) -> Tensor:
    return ((bits >> shift) & ((1 << (end - shift)) - 1)).long()


def _outside(weight: Tensor, bounds: _Bounds) -> Tensor:
    return (weight < bounds.lower) | (weight > bounds.upper)


def _bound(weights: Tensor, mask: Tensor, rows: Rows, level: str, mode: str, bounds: _Bounds) -> None:
    """Turn the raw weights, in place, into those that multiply the loss. NaN at a valid token stays to be seen."""
    for part in _chunks(weights):
        weight = weights[part]
        if level != "token":
            weight.copy_(rows["weight"][part, None])
        if mode == "clip":
            weight.masked_fill_(_outside(weight, bounds), 0)
        else:
            weight.clamp_(max=bounds.upper)
        weight.masked_fill_(~mask[part].bool() | (rows["catastrophic"][part, None] > 0), 0)


def _transfer(metrics: Mapping[str, Tensor], n: Tensor) -> dict[str, float]:
    """The metrics as numbers, with verl's prefix, in one copy from the device."""
    dtype = metrics["rollout_is_mean"].dtype
    count, *values = torch.stack([n.to(dtype), *(value.to(dtype) for value in metrics.values())]).tolist()
    if not count:
        raise AssertionError(_EMPTY)
    return {f"mismatch/{name}": value for name, value in zip(metrics, values, strict=True)}
