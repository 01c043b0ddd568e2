"""What several ranks compute together is what one computes alone (real gloo processes)."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("omegaconf")

from torch.distributed.tensor import DTensor  # noqa: E402

from rlcompare.collect.reference import distributed  # noqa: E402
from rlcompare.collect.reference.batch import Batch  # noqa: E402
from rlcompare.collect.reference.config.load import load_config  # noqa: E402
from rlcompare.collect.reference.distributed import World  # noqa: E402
from rlcompare.collect.reference.global_batch import global_batch  # noqa: E402
from rlcompare.collect.reference.policies import Policies  # noqa: E402
from rlcompare.collect.reference.sharding import whole_weights  # noqa: E402
from rlcompare.collect.reference.update import update_actor  # noqa: E402

pytestmark = pytest.mark.slow

STRATEGIES = ("fsdp2", "fsdp")
ROWS, PROMPT, RESPONSE = 16, 4, 12


def batch() -> Batch:
    """The same tensors in every process: responses of different lengths, and two policies that differ."""
    random = torch.Generator().manual_seed(11)
    lengths = torch.randint(1, RESPONSE + 1, (ROWS, 1), generator=random)
    mask = (torch.arange(RESPONSE) < lengths).float()
    ids = torch.randint(3, 50, (ROWS, PROMPT + RESPONSE), generator=random)
    old = -torch.rand(ROWS, RESPONSE, generator=random) * 3 * mask
    return Batch(
        input_ids=ids,
        attention_mask=torch.cat((torch.ones(ROWS, PROMPT), mask), dim=1).long(),
        position_ids=torch.arange(PROMPT + RESPONSE).expand(ROWS, -1),
        responses=ids[:, PROMPT:],
        response_mask=mask,
        rollout_log_probs=(old + 0.1 * torch.randn(ROWS, RESPONSE, generator=random)) * mask,
        scores=torch.rand(ROWS, generator=random),
        groups=torch.arange(ROWS) // 4,
        old_log_probs=old,
        values=torch.rand(ROWS, RESPONSE, generator=random) * mask,
    )


def compute(world: World, estimator: str) -> dict[str, Any]:
    config = load_config([f"algorithm.adv_estimator={estimator}"])
    whole = global_batch(batch().own(world), world, config)
    own = whole.batch.own(world)
    assert own.advantages is not None and own.weights is not None
    return {"metrics": whole.metrics, "advantages": own.advantages.tolist(), "weights": own.weights.tolist()}


def trained(world: World, strategy: str) -> dict[str, Any]:
    """One mini batch, in micro batches of 3, which divides neither 16 nor 8 rows; plain descent moves weights by their
    gradient."""
    actor = "actor_rollout_ref.actor"
    config = load_config(
        [f"{actor}.strategy={strategy}", "data.train_batch_size=4", f"{actor}.ppo_micro_batch_size_per_gpu=3"]
    )
    policies = Policies(config, world)
    optimizer = torch.optim.SGD(policies.actor.model.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)
    plain = replace(policies.actor, optimizer=optimizer, scheduler=scheduler)
    own = global_batch(batch().own(world), world, config).batch.own(world)
    metrics = update_actor(plain, own, config, world, tick=lambda name: None)
    with whole_weights(plain.model) as model:
        weights = {
            name.replace("_fsdp_wrapped_module.", ""): weight.full_tensor() if isinstance(weight, DTensor) else weight
            for name, weight in model.named_parameters()
        }
        return {"metrics": metrics, "weights": {name: weight.tolist() for name, weight in weights.items()}}


def rank_main(rank: int, size: int, port: int, folder: str) -> None:
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size)}
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    world = distributed.join("cpu")
    for estimator in ("grpo", "gae"):
        Path(folder, f"{estimator}{rank}.json").write_text(json.dumps(compute(world, estimator)))
    for strategy in STRATEGIES:
        result = trained(world, strategy)
        if world.is_first:
            Path(folder, f"{strategy}.json").write_text(json.dumps(result))
    distributed.leave(world)


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two ranks computed, as files."""
    folder = tmp_path_factory.mktemp("ranks")
    torch.multiprocessing.spawn(rank_main, (2, free_port(), str(folder)), nprocs=2)
    return folder


@pytest.mark.parametrize("estimator", ["grpo", "gae"])
def test_two_ranks_agree_with_one(ranks: Path, estimator: str) -> None:
    alone = compute(World(0, 1, torch.device("cpu")), estimator)
    both = [json.loads((ranks / f"{estimator}{rank}.json").read_text()) for rank in range(2)]
    assert both[0]["metrics"].keys() == alone["metrics"].keys()
    assert any(key.startswith("mismatch/") for key in alone["metrics"])
    for key, value in alone["metrics"].items():
        assert both[0]["metrics"][key] == pytest.approx(value, abs=1e-6), key
    for name in ("advantages", "weights"):
        together = torch.tensor(both[0][name] + both[1][name])
        torch.testing.assert_close(together, torch.tensor(alone[name]), rtol=0, atol=1e-6)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_gradient_of_two_ranks_is_that_of_one(ranks: Path, strategy: str) -> None:
    alone = trained(World(0, 1, torch.device("cpu")), strategy)
    both = json.loads((ranks / f"{strategy}.json").read_text())
    assert alone["metrics"]["actor/grad_norm"] > 0.01
    for key, value in alone["metrics"].items():
        assert both["metrics"][key] == pytest.approx(value, rel=1e-5, abs=1e-6), key
    assert both["weights"].keys() == alone["weights"].keys()
    for name, weight in alone["weights"].items():
        torch.testing.assert_close(torch.tensor(both["weights"][name]), torch.tensor(weight), rtol=0, atol=2e-6)
