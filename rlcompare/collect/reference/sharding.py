"""Spreads a model over the ranks: FSDP2 (``fully_shard``) or FSDP1. One process keeps it whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from rlcompare.collect.reference.distributed import World


def shard(model: nn.Module, strategy: str, world: World) -> nn.Module:
    """The model with its parameters spread over the ranks, a block at a time.

    Args:
        model: has ``layers``, the blocks that are gathered and freed together; every rank has the same weights.
        strategy: ``fsdp2`` or ``fsdp``.
    """
    if world.size == 1:
        return model
    if strategy == "fsdp2":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh(world.device.type, (world.size,))
        for block in _blocks(model):
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
        return model
    return _fsdp1(model, world)


def _fsdp1(model: nn.Module, world: World) -> nn.Module:
    from functools import partial

    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import lambda_auto_wrap_policy

    blocks = set(_blocks(model))
    policy = partial(lambda_auto_wrap_policy, lambda_fn=blocks.__contains__)
    return FullyShardedDataParallel(model, auto_wrap_policy=policy, use_orig_params=True, device_id=world.device)


def _blocks(model: nn.Module) -> list[nn.Module]:
    (layers,) = (module for name, module in model.named_modules() if name.rsplit(".", 1)[-1] == "layers")
    assert isinstance(layers, nn.ModuleList)
    return list(layers)


@contextmanager
def whole_weights(model: nn.Module) -> Iterator[nn.Module]:
    """The model with parameters that can be read whole: FSDP2's are gathered one by one where they are read."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    if isinstance(model, FullyShardedDataParallel):
        with FullyShardedDataParallel.summon_full_params(model, writeback=False):
            yield model
    else:
        yield model


def clip_gradients(model: nn.Module, max_norm: float) -> float:
    """Scales the gradients down to ``max_norm``; their norm over all ranks before that."""
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.tensor import DTensor

    if isinstance(model, FullyShardedDataParallel):
        return float(model.clip_grad_norm_(max_norm))
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    return float(norm.full_tensor() if isinstance(norm, DTensor) else norm)
