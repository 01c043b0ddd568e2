"""A policy sharded over two processes: its log-probabilities, its gradients, and the rollout's whole copy of it."""

from __future__ import annotations

import multiprocessing
import os
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rlcompare.collect.reference.model import PRESETS, Decoder, response_log_probs  # noqa: E402
from rlcompare.collect.reference.rollout import Rollout, generate, rollout_copy, sync_weights  # noqa: E402
from rlcompare.collect.reference.task import Task  # noqa: E402

TINY = PRESETS["tiny"]


def a_rollout() -> Rollout:
    return generate(
        Decoder(TINY, seed=1), Task(TINY.vocab_size, 16, 1).prompts(1, 2), n=2, temperature=1.0, top_k=-1, top_p=1.0,
        do_sample=True, ignore_eos=False, max_response_length=8, generator=torch.Generator().manual_seed(0),
    )  # fmt: skip


def sharded(strategy: str) -> Any:
    model = Decoder(TINY, seed=1)
    model.gradient_checkpointing = True
    if strategy == "fsdp2":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (2,))
        for part in (*model.layers, model):
            fully_shard(part, mesh=mesh)
        return model
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    policy = ModuleWrapPolicy({type(model.layers[0])})
    return FullyShardedDataParallel(model, auto_wrap_policy=policy, use_orig_params=True, device_id=torch.device("cpu"))


def whole(model: Any) -> Any:
    """A context in which the parameters can be read whole, and the module that has them."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    if isinstance(model, FullyShardedDataParallel):
        return FullyShardedDataParallel.summon_full_params(model, writeback=False), model.module
    return nullcontext(), model


def work(rank: int, folder: str) -> dict[str, Any]:
    """Take one step of plain SGD on the sharded model: the log-probs before it and the rollout's weights after it."""
    group = {"init_method": f"file://{folder}/store", "rank": rank, "world_size": 2, "timeout": timedelta(minutes=2)}
    torch.distributed.init_process_group("gloo", **group)
    found = {}
    try:
        for strategy in ("fsdp2", "fsdp"):
            model = sharded(strategy)
            optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
            log_probs, _ = response_log_probs(model, a_rollout(), 1.0)
            log_probs.mean().backward()
            optimizer.step()
            actor = rollout_copy(Decoder(TINY, seed=2), torch.bfloat16)
            context, source = whole(model)
            with context:
                sync_weights(source, actor)
            found[strategy] = (log_probs.detach(), actor.state_dict())
        torch.distributed.barrier()  # neither process leaves while the other still talks to it
    finally:
        torch.distributed.destroy_process_group()
    return found


def work_and_leave(folder: str) -> None:
    """The work of the second process, which ends without Python's cleanup: threads of PyTorch's may abort that."""
    work(1, folder)
    os._exit(0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_two_processes_compute_and_copy_what_one_does(tmp_path: Path) -> None:
    # GIVEN one step on one process
    model = Decoder(TINY, seed=1)
    log_probs, _ = response_log_probs(model, a_rollout(), 1.0)
    log_probs.mean().backward()
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    # WHEN this process and another share the model
    other = multiprocessing.get_context("spawn").Process(target=work_and_leave, args=(str(tmp_path),))
    other.start()
    found = work(0, str(tmp_path))
    other.join()
    assert other.exitcode == 0
    # THEN the log-probs and, after the step, the rollout's weights are the same
    for strategy, (sharded_log_probs, weights) in found.items():
        assert torch.allclose(sharded_log_probs, log_probs, atol=1e-5), strategy
        moved = 0.0
        for (name, parameter), start in zip(model.named_parameters(), Decoder(TINY, seed=1).parameters(), strict=True):
            assert weights[name].dtype == torch.bfloat16
            assert torch.allclose(weights[name].float(), parameter.bfloat16().float(), rtol=0.01, atol=1e-4), name
            moved = max(moved, (parameter - start).abs().max().item())
        assert moved > 0.01
