"""The metrics of a step under verl's names (docs/metrics.md), and the workload."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from rlcompare.collect.reference.batch import Batch
from rlcompare.collect.reference.distributed import World

_GIB = 2**30
_PER_RESPONSE_TOKEN = ("gen",)
"""Phases whose time per token counts response tokens; the others count all."""


def data_metrics(batch: Batch, rewards: torch.Tensor, max_response_length: int) -> dict[str, float]:
    """verl's metrics of a batch of all ranks.

    Args:
        rewards: (N, R), the rewards per token after the KL penalty, if there is one.
    """
    mask = batch.response_mask.bool()
    lengths, prompts = batch.response_lengths.float(), batch.prompt_lengths.float()
    metrics = {
        **_statistics("critic/score", batch.scores),
        **_statistics("critic/rewards", rewards.sum(-1)),
        **_statistics("response_length", lengths),
        "response_length/clip_ratio": (lengths == max_response_length).float().mean().item(),
        **_statistics("prompt_length", prompts),
    }
    for name in ("advantages", "returns", "values"):
        per_token = getattr(batch, name)
        if per_token is not None:
            metrics |= _statistics(f"critic/{name}", per_token[mask])
    if batch.rollout_log_probs is not None and batch.old_log_probs is not None:
        metrics |= _probability_difference(batch.old_log_probs, batch.rollout_log_probs, mask)
    return metrics


def workload(batch: Batch, counts: Mapping[str, int]) -> dict[str, float]:
    """The requested work (docs/design.md §2), in exact counts.

    Args:
        batch: the rows of all ranks.
        counts: counters of the step: decode steps of the slowest rank, mini and micro batches of the updates of
            one rank.
    """
    prompts, responses = int(batch.prompt_lengths.sum()), int(batch.response_lengths.sum())
    return {
        "workload.sequences": len(batch),
        "workload.prompt_tokens": prompts,
        "workload.response_tokens": responses,
        "workload.total_tokens": prompts + responses,
        "workload.response_length_mean": responses / len(batch),
        **{f"workload.{name}": count for name, count in counts.items()},
    }


def timing_metrics(seconds: Mapping[str, float], batch: Batch, world: World) -> dict[str, float]:
    """Times, times per token, and the throughput of one rank."""
    responses = int(batch.response_lengths.sum())
    tokens = responses + int(batch.prompt_lengths.sum())
    metrics: dict[str, float] = {f"timing_s/{name}": value for name, value in seconds.items()}
    for name, value in seconds.items():
        if name != "step":
            of = responses if name in _PER_RESPONSE_TOKEN else tokens
            metrics[f"timing_per_token_ms/{name}"] = value * 1e3 / max(of, 1)
    return metrics | {
        "perf/total_num_tokens": tokens,
        "perf/time_per_step": seconds["step"],
        "perf/throughput": tokens / seconds["step"] / world.size,
        **_memory(world),
    }


def _memory(world: World) -> dict[str, float]:
    """Peak memory since the process began, in GiB. A CPU has no such counter."""
    if world.device.type == "cpu":
        return {}
    device = getattr(torch, world.device.type)
    return {
        "perf/max_memory_allocated_gb": device.max_memory_allocated() / _GIB,
        "perf/max_memory_reserved_gb": device.max_memory_reserved() / _GIB,
    }


def _statistics(name: str, values: torch.Tensor) -> dict[str, float]:
    if values.numel() == 0:
        return {}
    values = values.cpu().double()  # an NPU has no float64
    packed = torch.stack([values.mean(), values.max(), values.min()]).tolist()
    return dict(zip((f"{name}/mean", f"{name}/max", f"{name}/min"), packed, strict=True))


def _probability_difference(old: torch.Tensor, rollout: torch.Tensor, mask: torch.Tensor) -> dict[str, float]:
    difference = (old.exp() - rollout.exp()).abs()[mask].cpu().double()
    if difference.numel() < 2:
        return {}
    return {
        "training/rollout_probs_diff_max": difference.max().item(),
        "training/rollout_probs_diff_mean": difference.mean().item(),
        "training/rollout_probs_diff_std": difference.std().item(),
    }
